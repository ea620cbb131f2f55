#include "engine/fusion_scale.hpp"

#include <algorithm>
#include <cmath>

#include "engine/similarity_spread.hpp"

namespace scrubjay::engine {
namespace {

// The deviation of BM25 if the occurrences of terms in documents were independent.
double lexical_deviation(const SearchScratch& scratch, size_t n_terms, uint64_t n_docs) {
  double variance = 0.0;
  for (size_t t = 0; t < n_terms; ++t) {
    if (scratch.dfs[t] == 0) continue;
    const double weight =
        scratch.counts[t] *
        (scratch.worths.empty() ? scratch.weighting.idf_of(t) : scratch.weighting.worth(t, scratch.worths));
    const double share = static_cast<double>(scratch.dfs[t]) / static_cast<double>(n_docs);
    variance += weight * weight * share * (1.0 - share);
  }
  return std::sqrt(variance);
}

}  // namespace

fusion::Scale fusion_scale(SearchScratch& scratch, std::span<const lexical::TermCount> terms, uint64_t n_docs,
                           const VectorArm& vector) {
  fusion::Scale scale;
  scale.lexical_deviation = lexical_deviation(scratch, terms.size(), n_docs);
  if (scratch.vector_docs.empty()) return scale;
  if (2 * scratch.sampled.size() >= n_blocks(n_docs, kMostFused)) {
    vector.similarities(scratch.sampled, scratch.similarities);
  } else {
    scratch.similarities.clear();
    for (uint32_t rank = 1; rank <= scratch.vector_docs.size(); ++rank)
      scratch.similarities.push_back(static_cast<float>(vector.similarity_at(rank)));
  }
  const SimilaritySpread spread = spread_of(scratch.similarities);
  if (!std::isfinite(spread.deviation)) return scale;
  scale.mean = spread.mean;
  scale.deviation = spread.deviation;
  return scale;
}

}  // namespace scrubjay::engine
