// Stemmer: a caller's Python function, which analysis calls from any thread.
#pragma once

#include <pybind11/pybind11.h>

#include "text/analyzer.hpp"

namespace scrubjay::bindings {

// None: no stemmer. Raises TypeError if it is not callable.
[[nodiscard]] text::Stemmer to_stemmer(const pybind11::object& function);

}  // namespace scrubjay::bindings
