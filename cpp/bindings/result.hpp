#pragma once

#include <pybind11/pybind11.h>

#include "engine/result.hpp"

namespace scrubjay::bindings {

struct Result {
  engine::SearchResult found;
  engine::IdKind id_kind;
};

[[nodiscard]] pybind11::object payload_object(const engine::Chunk& chunk, uint32_t offset);
using VectorOrPassages =
    pybind11::typing::Union<pybind11::array_t<float>,
                            pybind11::typing::Tuple<pybind11::array_t<float>, pybind11::array_t<uint32_t>>,
                            pybind11::none>;
// A float32 copy of a document's vector; for a document with passages a pair with their positions in its
// text; or None.
[[nodiscard]] pybind11::object vector_object(const engine::Chunk& chunk, uint32_t offset);

}  // namespace scrubjay::bindings
