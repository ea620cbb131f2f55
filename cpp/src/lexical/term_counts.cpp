#include "lexical/term_counts.hpp"

#include <bit>

#include "base/hash.hpp"

namespace scrubjay::lexical {

std::span<const TermCount> TermCounter::count(std::span<const text::Token> tokens) {
  terms_.clear();
  length_ = 0;
  const size_t n_slots = std::bit_ceil(2 * tokens.size() + 1);
  if (table_.size() < n_slots) table_.resize(n_slots);
  std::fill_n(table_.begin(), n_slots, 0u);
  for (const text::Token& token : tokens) {
    const bool counts = text::counts(token.kind);
    length_ += counts ? 1 : 0;
    size_t i = base::mix64(token.key, 0x9e3779b97f4a7c15ull) & (n_slots - 1);
    for (;; i = (i + 1) & (n_slots - 1)) {
      if (table_[i] == 0) {
        terms_.push_back({token.term, token.key, 1, counts});
        table_[i] = static_cast<uint32_t>(terms_.size());
        break;
      }
      TermCount& term = terms_[table_[i] - 1];
      if (term.key == token.key && (token.key >> 63 == 0 || term.term == token.term)) {
        ++term.count;
        term.counts |= counts;
        break;
      }
    }
  }
  return terms_;
}

}  // namespace scrubjay::lexical
