#pragma once

#include <pybind11/pybind11.h>

#include "engine/result.hpp"

namespace scrubjay::bindings {

struct Result {
  engine::SearchResult found;
  engine::IdKind id_kind;
};

[[nodiscard]] pybind11::object payload_object(const engine::Chunk& chunk, uint32_t offset);
// A copy as float32, or None.
[[nodiscard]] pybind11::object vector_object(const engine::Chunk& chunk, uint32_t offset);

}  // namespace scrubjay::bindings
