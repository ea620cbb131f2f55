// Identifier tier: query terms that name something exactly; documents that contain one rank first.
//
// Neither rank fusion nor vectors distinguish TS-2304 from TS-2305. A term of the query is such
// an identifier if
//  - it is an identifier as written (a whole form), or contains a digit as a word or joined form;
//  - it is rare: at least one and at most max(5, 0.5%) of the visible documents contain it;
//  - no other such term of the query contains it (of jane@acme.com, acme.com does not count by itself);
//  - it has digits (unlike a name such as fooBar) and is not a mere quantity (quantities.hpp), unless the
//    query is mostly about identifiers: they and the parts inside them make up two thirds of the query's idf.
// Within the tier, documents that contain more of the query's identifiers, rare or not, come first; each
// identifier counts once, however many of its forms and parts a document contains. If the query names several
// and none is rare, the documents that contain the rarest and another one are the tier, provided that they
// are as few.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexical/bm25.hpp"
#include "lexical/term_counts.hpp"
#include "text/analyzer.hpp"

namespace scrubjay::engine {

// Terms are indices into the query's terms.
struct QueryIdentifiers {
  std::vector<uint32_t> members;             // ascending: documents that contain one are in the tier
  std::vector<std::vector<uint32_t>> named;  // each identifier as its forms; only the first n_named are valid
  size_t n_named = 0;
  bool names_any = false;            // the text has an identifier with a digit, not a quantity or date
  std::vector<uint32_t> any_form;    // ascending: terms that are any form of an identifier
  std::vector<std::string> written;  // identifiers with a digit, as terms, without parts of others
  std::vector<std::string> written_stripped;  // scratch: `written` without joiners, ascending
  std::vector<uint32_t> known, rare;          // scratch
  std::vector<std::string> stripped;          // each known identifier without the joiners of its parts
  std::vector<uint8_t> exact;                 // whether each known identifier, as written, is not a quantity
};

// Whether a character joins the parts of an identifier.
[[nodiscard]] constexpr bool is_joiner(char c) noexcept {
  return std::string_view("-_.@/:+#").find(c) != std::string_view::npos;
}

// Whether an identifier is a stretch of a longer one with joiners beside it: stg-0041 of sk-stg-0041.
[[nodiscard]] bool is_part_of(std::string_view identifier, std::string_view whole) noexcept;

// The greatest number of documents that counts as rare.
[[nodiscard]] double rare_limit(uint64_t n_docs) noexcept;

// `dfs` and `weighting` are those of the visible documents.
void find_identifiers(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                      std::span<const uint64_t> dfs, const lexical::Weighting& weighting, uint64_t n_docs,
                      QueryIdentifiers& out);

// Fills `names_any`, `any_form` and `written`.
void find_any_form(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                   QueryIdentifiers& out);

// Index in `named` of the identifier that the fewest documents contain, over all its forms; the
// first of equals.
[[nodiscard]] size_t rarest(const QueryIdentifiers& identifiers, std::span<const uint64_t> dfs) noexcept;

}  // namespace scrubjay::engine
