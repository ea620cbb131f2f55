// The identifier tier: terms of a query that name something exactly; documents that hold one come first.
//
// Neither rank fusion nor vectors tell TS-2304 from TS-2305. A term of the query is such an identifier if
//  - it is an identifier as written (a whole form), or holds a digit as a word or joined form;
//  - it is rare: at most max(5, 0.5%) of the visible documents hold it, and at least one;
//  - no other such term of the query contains it (of jane@acme.com, acme.com does not count by itself);
//  - it is not free of digits (a name like fooBar), nor a mere quantity (quantities.hpp), unless the query is
//    mostly about identifiers: they and the parts inside them make up two thirds of the query's idf.
// Within the tier those documents come first that hold more of the query's identifiers, rare or not, each counted
// once, however many forms and parts of it a document holds. If the query names several and none is rare, the
// documents that hold the rarest and another one are the tier, if they are as few.
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

// Terms are indices into the query's.
struct QueryIdentifiers {
  std::vector<uint32_t> members;             // ascending: who holds one is in the tier
  std::vector<std::vector<uint32_t>> named;  // each identifier as its forms; the first n_named
  size_t n_named = 0;
  bool names_any = false;  // whether the text names one with a digit, known or not, no quantity and no date
  std::vector<uint32_t> any_form;     // ascending: the terms that are one, in whichever form
  std::vector<std::string> written;   // those of `names_any`, as terms, but for parts of others
  std::vector<uint32_t> known, rare;  // scratch
  std::vector<std::string> stripped;  // of each known one, without what joins its parts
  std::vector<uint8_t> exact;         // whether each known one, as it is written, is no quantity
};

// Whether a character joins the parts of an identifier.
[[nodiscard]] constexpr bool is_joiner(char c) noexcept {
  return std::string_view("-_.@/:+#").find(c) != std::string_view::npos;
}

// Whether an identifier is a stretch of a longer one with joiners beside it: stg-0041 of sk-stg-0041.
[[nodiscard]] bool is_part_of(std::string_view identifier, std::string_view whole) noexcept;

// The most documents that count as few.
[[nodiscard]] double rare_limit(uint64_t n_docs) noexcept;

// `dfs` and the weighting are those of the visible documents.
void find_identifiers(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                      std::span<const uint64_t> dfs, const lexical::Weighting& weighting, uint64_t n_docs,
                      QueryIdentifiers& out);

// Fills `names_any`, `any_form` and `written`.
void find_any_form(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                   QueryIdentifiers& out);

// The place among `named` of the identifier that fewest documents hold, counting each form; the first of equals.
[[nodiscard]] size_t rarest(const QueryIdentifiers& identifiers, std::span<const uint64_t> dfs) noexcept;

}  // namespace scrubjay::engine
