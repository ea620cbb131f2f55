// Code scan: the k nearest vectors of the visible chunks, reading few of the originals.
//
// Per chunk: an upper bound of every similarity from the codes (codes.hpp); the k greatest bounds are scored
// from the originals, which gives a k-th best similarity; then so is every other vector whose bound reaches
// it. What is returned are exact similarities of the stored vectors, and a vector that belongs among the best
// is missed only where its estimate errs by more than `margin` errors.
//
// Where the originals are far, those that will likely be scored are asked for while codes are still compared.
//
// Where there are many (is_worth_sifting()) their signs are looked at first (signs.hpp), in the same way: bounds from
// below by the codes of some that look near give what the best k reach at least, and only documents whose bound by
// their signs reaches that go on. That misses a few more, less than as many again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topk.hpp"
#include "vector/passages.hpp"
#include "vector/scan.hpp"

namespace scrubjay::vector {

struct CodeScanScratch {
  std::vector<int32_t> dots;
  std::vector<uint32_t> bounds;  // sortable floats, halved
  std::vector<uint32_t> maxima;
  std::vector<uint32_t> positions, likely;
  std::vector<uint32_t> scores;  // sortable similarities
  std::vector<uint32_t> least;   // bounds from below, likewise
  std::vector<uint16_t> sifted;  // documents
  SignQuery signs;
  std::vector<uint32_t> rows;  // of passages
  std::vector<uint32_t> row_scores;
};

// As scan_chunk(), over a column that has codes; query.code is prepared. Returns how many originals it looked
// at.
size_t scan_codes(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                  float margin, CodeScanScratch& scratch, base::TopK& best);

// The same for the documents at the given offsets, ascending, all of them live and below n_docs.
size_t gather_codes(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                    const PreparedQuery& query, float margin, CodeScanScratch& scratch, base::TopK& best);

// Documents of a chunk that count.
struct ChunkDocuments {
  uint32_t n_docs = 0;  // of the snapshot
  const base::Bitmap* dead = nullptr;
};

// The same for documents with passages, each by the nearest of them: from the originals of all. Return how many
// passages' originals they looked at.
size_t scan_passages(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                     const PreparedQuery& query, CodeScanScratch& scratch, base::TopK& best);
// By the codes of the passages, which must have some, first: then by all originals of the documents that can be among
// the best.
size_t scan_passage_codes(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                          const PreparedQuery& query, float margin, CodeScanScratch& scratch,
                          base::TopK& best);

}  // namespace scrubjay::vector
