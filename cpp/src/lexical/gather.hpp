// Gathering: scores a few documents without reading all postings.
//
// For selective filters: each admitted document is looked up in each term's list.
#pragma once

#include <cstdint>

#include "lexical/search.hpp"
#include "lexical/selection.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::lexical {

// Same as kernels.complete() for a term's list, using the list's ranked bitmap if it has one.
[[nodiscard]] inline size_t complete_term(const simd::Kernels& kernels, const TermPostings& list,
                                          float weight, uint32_t count, const float* norms, uint32_t rest,
                                          uint32_t threshold, uint32_t* positions, uint32_t* scores,
                                          size_t n_candidates) {
  if (const RankedBitmap* ranked = list.ranked()) {
    return kernels.complete_ranked(ranked->read(), ranked->n_words(), list.payloads(), weight, count, norms,
                                   rest, threshold, positions, scores, n_candidates);
  }
  return kernels.complete(list.offsets(), list.payloads(), list.n, weight, count, norms, rest, threshold,
                          positions, scores, n_candidates);
}

// Same as search_exhaustively() restricted to the documents query.chunks[chunk].among: adds those that can be
// among the best k to the selection.
void gather_chunk(const Query& query, uint32_t chunk, const simd::Kernels& kernels, Selection& selection);

// Whether gathering costs less than accumulating the chunk's postings. A lookup costs about as much as 12
// postings, the sum of a document a fifth of a posting.
[[nodiscard]] constexpr bool gathering_pays(uint64_t n_admitted, uint64_t n_lists, uint64_t n_postings,
                                            uint64_t n_docs) noexcept {
  return n_admitted * n_lists * 12 < n_postings + n_docs / 5;
}

}  // namespace scrubjay::lexical
