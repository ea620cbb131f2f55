#pragma once

#include <pybind11/numpy.h>

#include "embed/static_embedder.hpp"

namespace scrubjay::bindings {

// The native embedder and the array that its rows lie in.
struct StaticEmbedder {
  pybind11::array table;
  embed::StaticEmbedder core;

  StaticEmbedder(pybind11::array rows, embed::StaticEmbedder embedder)
      : table(std::move(rows)), core(std::move(embedder)) {}
};

}  // namespace scrubjay::bindings
