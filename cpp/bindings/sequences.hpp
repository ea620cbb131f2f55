// Sequences of ids, texts, vectors and scopes: the arguments of batches.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <vector>

#include "convert.hpp"
#include "engine/engine.hpp"

namespace scrubjay::bindings {

// A tuple of a sequence's items, which owns them while the GIL is released. A str does not count
// as a sequence.
[[nodiscard]] pybind11::tuple items_of(const pybind11::object& values, const char* name);
// Whether a value may be several values rather than one: a text, bytes, a mapping or a table is not. The usual
// types are told at once.
[[nodiscard]] bool may_hold_values(pybind11::handle value);
void check_length(const pybind11::tuple& items, const char* name, size_t expected);

// "ids[3]", for error messages.
[[nodiscard]] std::string at(const char* name, size_t i);

// The vectors of a batch: a matrix, or a sequence whose items are the vectors of a document or None.
struct Vectors {
  FloatArray matrix;
  std::vector<DocumentVectors> rows;

  Vectors(const pybind11::object& value, const char* name, size_t expected);
  [[nodiscard]] std::span<const float> row(size_t i) const;
  [[nodiscard]] std::span<const vector::PassageSpan> passages(size_t i) const;
};

// What several scopes see together, for a search over all of them; at least one scope.
class SeveralScopes {
 public:
  explicit SeveralScopes(const pybind11::object& values);
  [[nodiscard]] std::span<const engine::Scope::Visible> visible() const noexcept { return visible_; }

 private:
  pybind11::tuple items_;  // owns the scopes
  std::vector<engine::Scope::Visible> visible_;
};

[[nodiscard]] std::vector<ScopePtr> to_scopes(const pybind11::object& value, size_t n);
// The key for an id or a pair (scope, id), which points into the item. `place`: for error messages.
[[nodiscard]] engine::DocumentKey to_key(pybind11::handle item, const std::string& place);
// The keys of all items, which the tuple owns.
[[nodiscard]] std::vector<engine::DocumentKey> to_keys(const pybind11::tuple& items, const char* name);

}  // namespace scrubjay::bindings
