#pragma once

#include <pybind11/numpy.h>

#include <memory>

#include "embed/static_embedder.hpp"
#include "embed/static_table.hpp"

namespace scrubjay::bindings {

// The native embedder with the owner of its rows: the caller's array, or the table of a file.
struct StaticEmbedder {
  pybind11::array table;
  std::unique_ptr<const embed::StaticTable> file;
  embed::StaticEmbedder core;

  StaticEmbedder(pybind11::array rows, embed::StaticEmbedder embedder)
      : table(std::move(rows)), core(std::move(embedder)) {}
  StaticEmbedder(std::unique_ptr<const embed::StaticTable> read, embed::StaticEmbedder embedder)
      : file(std::move(read)), core(std::move(embedder)) {}
};

}  // namespace scrubjay::bindings
