// A stemmer of the caller's: a Python function that analysis calls from whichever thread runs it.
#pragma once

#include <pybind11/pybind11.h>

#include "text/analyzer.hpp"

namespace scrubjay::bindings {

// None: no stemmer. TypeError for what cannot be called.
[[nodiscard]] text::Stemmer to_stemmer(const pybind11::object& function);

}  // namespace scrubjay::bindings
