// Code scan: the k nearest vectors of the visible chunks, reading few of the originals.
//
// Per chunk: computes an upper bound of every similarity from the codes (codes.hpp); scores the k greatest
// bounds from the originals, which gives a k-th best similarity; then scores every other vector whose bound
// reaches it. Results are exact similarities of the stored vectors, and a vector that belongs among the best
// is missed only if its estimate errs by more than `margin` errors.
//
// If the originals are not cached, those that will probably be scored are prefetched while codes
// are still compared.
//
// For many documents (is_worth_sifting()) the signs are compared first (signs.hpp), in the same way: lower
// bounds from the codes of some documents that seem near give a threshold for the best k, and only documents
// whose bound by signs reaches it are compared by their codes. That adds fewer misses than the codes have.
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
  std::vector<uint32_t> least;   // lower bounds, likewise
  std::vector<uint16_t> sifted;  // documents
  SignQuery signs;
  std::vector<uint32_t> rows;  // for passages
  std::vector<uint32_t> row_scores;
};

// Same as scan_chunk(), over a column with codes; query.code is prepared. Returns the number of originals
// that it scored.
size_t scan_codes(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                  float margin, CodeScanScratch& scratch, base::TopK& best);

// The same for the documents at the given offsets, which are ascending, live and below n_docs.
size_t gather_codes(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                    const PreparedQuery& query, float margin, CodeScanScratch& scratch, base::TopK& best);

// The documents of a chunk that count.
struct ChunkDocuments {
  uint32_t n_docs = 0;  // of the snapshot
  const base::Bitmap* dead = nullptr;
};

// The same for documents with passages, each scored by its nearest passage, from all originals. Returns the
// number of passages whose originals were scored.
size_t scan_passages(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                     const PreparedQuery& query, CodeScanScratch& scratch, base::TopK& best);
// The same, by the codes of the passages (which must exist) first, then by all originals of the documents
// that can be among the best.
size_t scan_passage_codes(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                          const PreparedQuery& query, float margin, CodeScanScratch& scratch,
                          base::TopK& best);

}  // namespace scrubjay::vector
