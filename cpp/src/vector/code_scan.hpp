// Code scan: the k nearest vectors of the visible chunks, reading few of the originals.
//
// Per chunk: an upper bound of every similarity from the codes (codes.hpp); the k greatest bounds are scored
// from the originals, which gives a k-th best similarity; then so is every other vector whose bound reaches
// it. What is returned are exact similarities of the stored vectors, and a vector that belongs among the best
// is missed only where its estimate errs by more than `margin` errors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topk.hpp"
#include "vector/scan.hpp"

namespace scrubjay::vector {

struct CodeScanScratch {
  std::vector<int32_t> dots;
  std::vector<uint32_t> bounds;  // sortable floats, halved
  std::vector<uint32_t> maxima;
  std::vector<uint32_t> positions;
  std::vector<uint32_t> scores;  // sortable similarities
};

// As scan_chunk(), over a column that has codes; query.code is prepared. Returns how many originals it looked
// at.
size_t scan_codes(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                  float margin, CodeScanScratch& scratch, base::TopK& best);

// The same for the documents at the given offsets, ascending, all of them live and below n_docs.
size_t gather_codes(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                    const PreparedQuery& query, float margin, CodeScanScratch& scratch, base::TopK& best);

}  // namespace scrubjay::vector
