// Gathering: scores of a few documents, without reading all postings.
//
// For filters that admit little: each admitted document is looked up in each term's list.
#pragma once

#include <cstdint>

#include "lexical/search.hpp"
#include "lexical/selection.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::lexical {

// As if kernels.complete() for a term's list; by the list's ranked bitmap, if it
// has one.
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

// As if search_exhaustively() looked at the documents query.chunks[chunk].among alone: adds those that can be
// among the best k to the selection.
void gather_chunk(const Query& query, uint32_t chunk, const simd::Kernels& kernels, Selection& selection);

// Whether that costs less than adding up the chunk's postings. A look-up costs about as much as 12 postings,
// a document's sum a fifth of one.
[[nodiscard]] constexpr bool gathering_pays(uint64_t n_admitted, uint64_t n_lists, uint64_t n_postings,
                                            uint64_t n_docs) noexcept {
  return n_admitted * n_lists * 12 < n_postings + n_docs / 5;
}

}  // namespace scrubjay::lexical
