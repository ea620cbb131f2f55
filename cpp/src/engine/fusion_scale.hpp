// Fusion scale: the scale by which automatic fusion normalises the scores of a search (fusion/fuse.hpp).
#pragma once

#include "engine/search_scratch.hpp"
#include "engine/vector_arm.hpp"
#include "fusion/fuse.hpp"
#include "lexical/term_counts.hpp"

namespace scrubjay::engine {

// Computed over all visible documents, ignoring filters, after both arms have ranked; the scratch holds the
// sample of documents (similarity_spread.hpp) and the document frequencies. Without a vector ranking there is
// no spread; if fewer than half of the sample have a vector, the spread is that of the vector ranking.
[[nodiscard]] fusion::Scale fusion_scale(SearchScratch& scratch, std::span<const lexical::TermCount> terms,
                                         uint64_t n_docs, const VectorArm& vector);

}  // namespace scrubjay::engine
