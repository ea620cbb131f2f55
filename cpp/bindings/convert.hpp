// Python values to the core's and back. Everything here needs the GIL.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/id.hpp"
#include "engine/scope.hpp"
#include "vector/passages.hpp"

namespace scrubjay::bindings {

using FloatArray = pybind11::array_t<float, pybind11::array::c_style | pybind11::array::forcecast>;
using ScopePtr = std::shared_ptr<const engine::Scope>;

// "list" for [1, 2]; for error messages.
[[nodiscard]] std::string type_name(pybind11::handle value);
[[nodiscard]] std::string quoted(pybind11::handle value);  // its repr, ASCII, shortened

// A str or int id. The view into a str lives as long as the str. TypeError, ValueError.
[[nodiscard]] engine::Id to_id(pybind11::handle value, const std::string& name);
[[nodiscard]] pybind11::object from_id(const engine::Id& id);

// A text as bytes; `keep` owns what the view points to. Lone surrogates become U+FFFD. TypeError.
[[nodiscard]] std::string_view to_text(pybind11::handle value, const std::string& name,
                                       pybind11::object& keep);
[[nodiscard]] pybind11::str from_text(std::string_view text);
// The same as a new reference; null with a Python error.
[[nodiscard]] PyObject* new_text(std::string_view text) noexcept;
// The id as a new reference; null with a Python error.
[[nodiscard]] PyObject* new_id(const engine::Id& id) noexcept;

// A one-dimensional vector of real numbers; float32 C-contiguous arrays are not copied. TypeError,
// ValueError.
[[nodiscard]] FloatArray to_vector(pybind11::handle value, const std::string& name);
// A copy of an array of `dim` finite float32 that are not all 0, the usual vector of a document; None for anything
// else, and for numbers so large or so small that only a closer look tells.
[[nodiscard]] pybind11::object copied_vector(pybind11::handle value, pybind11::handle dim);
// What a document may have: such a vector, or a pair (vectors of its passages, one a row; where they are in its text,
// integers of shape (n, 2), or None). TypeError, ValueError.
struct DocumentVectors {
  FloatArray floats;
  std::vector<vector::PassageSpan> passages;  // empty: it has one vector

  DocumentVectors() = default;
  DocumentVectors(pybind11::handle value, const std::string& name);
};
// The same with n rows.
[[nodiscard]] FloatArray to_matrix(pybind11::handle value, const std::string& name);
[[nodiscard]] inline std::span<const float> as_span(const FloatArray& array) {
  return {array.data(), static_cast<size_t>(array.size())};
}

[[nodiscard]] ScopePtr to_scope(pybind11::handle value, const std::string& name);
// The same as long as the argument lives.
[[nodiscard]] const engine::Scope& as_scope(pybind11::handle value, const char* name);

// A non-negative count argument: TypeError for what is not an integer, ValueError below `least`; values
// beyond 2^62 are as good as 2^62.
[[nodiscard]] size_t to_count(pybind11::handle value, const std::string& name, size_t least);

// The value of a name among these. ValueError.
template <class Value, size_t n>
Value one_of(const std::pair<const char*, Value> (&names)[n], const std::string& given, const char* name) {
  std::string expected;
  for (const auto& [known, value] : names) {
    if (given == known) return value;
    expected += (expected.empty() ? "'" : ", '") + std::string(known) + "'";
  }
  throw pybind11::value_error(std::string(name) + ": expected one of " + expected + ", got '" + given + "'");
}

}  // namespace scrubjay::bindings
