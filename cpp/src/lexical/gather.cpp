#include "lexical/gather.hpp"

#include <algorithm>

namespace scrubjay::lexical {

void gather_chunk(const Query& query, uint32_t chunk, const simd::Kernels& kernels, Selection& selection) {
  constexpr size_t kAtATime = 4096;
  const ChunkPostings& postings = query.chunks[chunk];
  const size_t n_terms = query.counts.size();
  for (size_t begin = 0; begin < postings.among.size(); begin += kAtATime) {
    size_t n = std::min(kAtATime, postings.among.size() - begin);
    selection.make_room(n);
    std::copy_n(postings.among.data() + begin, n, selection.positions());
    std::fill_n(selection.scores(), n, 0u);
    for (size_t t = 0; t < n_terms && n != 0; ++t) {
      const TermPostings& list = postings.terms[t];
      // `rest` = 1 keeps every candidate until the last term has been looked up.
      const bool last = t + 1 == n_terms;
      if (list.n == 0 && !last) continue;
      n = complete_term(kernels, list, query.weighting->weight(t), query.counts[t], query.weighting->norms(),
                        last ? 0 : 1, last ? selection.threshold() : 0, selection.positions(),
                        selection.scores(), n);
    }
    selection.add(n, chunk << 16);
  }
}

}  // namespace scrubjay::lexical
