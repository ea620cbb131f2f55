#include "engine/identifier_tier.hpp"

#include <algorithm>
#include <string_view>

namespace scrubjay::engine {
namespace {

constexpr uint64_t kAlwaysRare = 5;
constexpr double kRareShare = 0.005;
constexpr double kMostly = 2.0 / 3.0;
constexpr size_t kShortNumber = 2;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool has_digit(std::string_view term) noexcept { return std::any_of(term.begin(), term.end(), is_digit); }
bool is_number(std::string_view term) noexcept { return std::all_of(term.begin(), term.end(), is_digit); }
bool contains(std::string_view term, std::string_view inner) noexcept {
  return term.find(inner) != std::string_view::npos;
}

// The share of the query's idf that a term and the query's terms inside it have.
double share_of_query(std::string_view term, std::span<const lexical::TermCount> terms,
                      const lexical::Weighting& weighting) {
  double inside = 0.0, total = 0.0;
  for (size_t t = 0; t < terms.size(); ++t) {
    const double mass = terms[t].count * weighting.idf_of(t);
    total += mass;
    if (contains(term, terms[t].term)) inside += mass;
  }
  return total > 0.0 ? inside / total : 0.0;
}

}  // namespace

void find_identifiers(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                      std::span<const uint64_t> dfs, const lexical::Weighting& weighting, uint64_t n_docs,
                      std::vector<uint32_t>& rare, std::vector<uint32_t>& out) {
  out.clear();
  for (const text::Token& token : tokens) {
    if (token.kind != text::TokenKind::whole &&
        (token.kind == text::TokenKind::part || !has_digit(token.term)))
      continue;
    const auto at = std::find_if(terms.begin(), terms.end(), [&](const lexical::TermCount& term) {
      return term.key == token.key && term.term == token.term;
    });
    const auto t = static_cast<size_t>(at - terms.begin());
    const bool is_rare =
        dfs[t] != 0 &&
        (dfs[t] <= kAlwaysRare || static_cast<double>(dfs[t]) <= kRareShare * static_cast<double>(n_docs));
    if (is_rare) out.push_back(static_cast<uint32_t>(t));
  }
  if (out.empty()) return;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  // Judged against all of them before any goes: a chain of containments leaves the longest.
  rare = out;
  std::erase_if(out, [&](uint32_t t) {
    const std::string_view term = terms[t].term;
    const bool inner = std::any_of(rare.begin(), rare.end(), [&](uint32_t other) {
      return other != t && contains(terms[other].term, term);
    });
    if (inner) return true;
    const bool telling = has_digit(term) && !(is_number(term) && term.size() <= kShortNumber);
    return !telling && share_of_query(term, terms, weighting) < kMostly;
  });
}

}  // namespace scrubjay::engine
