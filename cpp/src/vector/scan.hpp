// Scan: the k nearest vectors of the visible chunks, exactly.
#pragma once

#include <cstdint>
#include <span>

#include "base/bitmap.hpp"
#include "base/topk.hpp"
#include "vector/column.hpp"

namespace scrubjay::vector {

struct ChunkVectors {
  uint32_t n_docs = 0;  // of the snapshot
  const base::Bitmap* dead = nullptr;
  const Column* column = nullptr;  // null: no document of the chunk has a vector
};

// Scores every live vector of documents [first_doc, n_docs) of chunk number `chunk` from the stored
// originals. `best` receives base::candidate_key(sortable similarity, chunk << 16 | offset).
void scan_chunk(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                base::TopK& best);

// The same for the documents at the given offsets, which are ascending, live and below n_docs.
void gather_chunk(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                  const PreparedQuery& query, base::TopK& best);

}  // namespace scrubjay::vector
