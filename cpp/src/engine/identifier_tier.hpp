// The identifier tier: terms of a query that name something exactly; documents that hold one come first.
//
// Neither rank fusion nor vectors tell TS-2304 from TS-2305. A term of the query is such an identifier if
//  - it is an identifier as written (a whole form), or holds a digit as a word or joined form;
//  - it is rare: at most max(5, 0.5%) of the visible documents hold it, and at least one;
//  - no other such term of the query contains it (of jane@acme.com, acme.com does not count by itself);
//  - it is not a mere number of one or two digits, nor free of digits (a name like fooBar), unless the
//    query is mostly about it: the term and the parts inside it make up two thirds of the query's idf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lexical/bm25.hpp"
#include "lexical/term_counts.hpp"
#include "text/analyzer.hpp"

namespace scrubjay::engine {

// Fills `out` with indices into `terms`, ascending. `dfs` and the weighting are those of the visible
// documents.
void find_identifiers(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                      std::span<const uint64_t> dfs, const lexical::Weighting& weighting, uint64_t n_docs,
                      std::vector<uint32_t>& rare, std::vector<uint32_t>& out);

}  // namespace scrubjay::engine
