// Fusion scale: what the automatic fusion measures the scores of a search by (fusion/fuse.hpp).
#pragma once

#include "engine/search_scratch.hpp"
#include "engine/vector_arm.hpp"
#include "fusion/fuse.hpp"
#include "lexical/term_counts.hpp"

namespace scrubjay::engine {

// Of the visible documents, filter or not, after both arms ranked; the scratch holds the sample of documents
// (similarity_spread.hpp) and the document frequencies. Without a vector ranking, no
// spread; where fewer than half of the sample have a vector, that of the vector ranking.
[[nodiscard]] fusion::Scale fusion_scale(SearchScratch& scratch, std::span<const lexical::TermCount> terms,
                                         uint64_t n_docs, const VectorArm& vector);

}  // namespace scrubjay::engine
