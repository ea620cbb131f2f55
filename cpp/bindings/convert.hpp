// Conversion between Python values and the core's. Everything here requires the GIL.
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

// A str or int id. The view into a str lives as long as the str. Raises TypeError, ValueError.
[[nodiscard]] engine::Id to_id(pybind11::handle value, const std::string& name);
[[nodiscard]] pybind11::object from_id(const engine::Id& id);

// A text as bytes; `keep` owns the viewed memory. Lone surrogates become U+FFFD. Raises TypeError.
[[nodiscard]] std::string_view to_text(pybind11::handle value, const std::string& name,
                                       pybind11::object& keep);
[[nodiscard]] pybind11::str from_text(std::string_view text);
// The same as a new reference; null with a Python error set.
[[nodiscard]] PyObject* new_text(std::string_view text) noexcept;
// The id as a new reference; null with a Python error set.
[[nodiscard]] PyObject* new_id(const engine::Id& id) noexcept;

// Rejects a NumPy array with masked elements: the numbers under the mask would be taken for data.
void expect_unmasked(pybind11::handle value, const std::string& name, const char* expected);
// A one-dimensional vector of real numbers; float32 C-contiguous arrays are not copied.
// Raises TypeError, ValueError.
[[nodiscard]] FloatArray to_vector(pybind11::handle value, const std::string& name);
// A copy of an array of `dim` finite float32 numbers that are not all 0, the usual vector of a document; None
// for anything else, including numbers so large or small that they need a closer check.
[[nodiscard]] pybind11::object copied_vector(pybind11::handle value, pybind11::handle dim);
// The vectors of a document: one vector, or a pair (vectors of its passages, one per row; their positions in
// its text, integers of shape (n, 2), or None). Raises TypeError, ValueError.
struct DocumentVectors {
  FloatArray floats;
  std::vector<vector::PassageSpan> passages;  // empty: it has one vector

  DocumentVectors() = default;
  DocumentVectors(pybind11::handle value, const std::string& name);
};
// Same as to_vector(), for a matrix with n rows.
[[nodiscard]] FloatArray to_matrix(pybind11::handle value, const std::string& name);
[[nodiscard]] inline std::span<const float> as_span(const FloatArray& array) {
  return {array.data(), static_cast<size_t>(array.size())};
}

[[nodiscard]] ScopePtr to_scope(pybind11::handle value, const std::string& name);
// Same as to_scope(), valid as long as the argument lives.
[[nodiscard]] const engine::Scope& as_scope(pybind11::handle value, const char* name);

// A count argument: TypeError for anything but an integer, ValueError below `least`; values beyond 2^62
// become 2^62.
[[nodiscard]] size_t to_count(pybind11::handle value, const std::string& name, size_t least);

// The value of a name. Raises ValueError for any other name.
template <class Value, size_t n>
Value one_of(const std::pair<const char*, Value> (&names)[n], const std::string& choice, const char* name) {
  std::string expected;
  for (const auto& [known, value] : names) {
    if (choice == known) return value;
    expected += (expected.empty() ? "'" : ", '") + std::string(known) + "'";
  }
  throw pybind11::value_error(std::string(name) + ": expected one of " + expected + ", got '" + choice + "'");
}

}  // namespace scrubjay::bindings
