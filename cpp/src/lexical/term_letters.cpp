#include "lexical/term_letters.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "base/growing.hpp"
#include "text/compounds.hpp"

namespace scrubjay::lexical {
namespace {

constexpr size_t kTermsAGroup = 4;  // approximately, if letters were distributed evenly

[[nodiscard]] std::string_view term_behind(const char* length) noexcept {
  return {length + 1, static_cast<unsigned char>(*length)};
}

// Whether a query word may be part of the term (text::is_part() requires as many letters).
[[nodiscard]] bool may_be_compound(std::string_view term) noexcept {
  return term.size() >= text::kLeastCompoundBytes && text::may_be_in_compound(term);
}

// Calls visit(term, offset of its length byte) for each term that may be a compound.
template <class Visit>
void visit_compounds(std::string_view bytes, Visit&& visit) {
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view term = term_behind(bytes.data() + at);
    if (may_be_compound(term)) visit(term, static_cast<uint32_t>(at));
    at += 1 + term.size();
  }
}

}  // namespace

TermLetters::TermLetters(std::string_view bytes) : n_bytes_(bytes.size()) {
  size_t n_places = 0;
  visit_compounds(bytes, [&](std::string_view term, uint32_t) { n_places += term.size() - kTogether + 1; });
  const size_t n_groups = std::bit_ceil(n_places / kTermsAGroup + 2);
  shift_ = 32 - static_cast<unsigned>(std::countr_zero(n_groups));
  begins_ = std::make_unique<uint32_t[]>(n_groups + 1);
  places_ = std::make_unique_for_overwrite<uint32_t[]>(n_places);
  const auto for_each_group = [&](std::string_view term, auto&& visit) {
    for (size_t i = 0; i + kTogether <= term.size(); ++i) visit(group_of(term.data() + i));
  };
  // Counts, computes prefix sums (the ends of the groups), and fills the groups from their ends.
  visit_compounds(bytes, [&](std::string_view term, uint32_t) {
    for_each_group(term, [&](size_t group) { ++begins_[group]; });
  });
  for (size_t group = 1; group <= n_groups; ++group) begins_[group] += begins_[group - 1];
  visit_compounds(bytes, [&](std::string_view term, uint32_t at) {
    for_each_group(term, [&](size_t group) { places_[--begins_[group]] = at; });
  });
  for (size_t group = 0; group < n_groups; ++group)
    std::reverse(places_.get() + begins_[group], places_.get() + begins_[group + 1]);
}

size_t TermLetters::group_of(const char* four) const noexcept {
  uint32_t letters;
  static_assert(sizeof(letters) == kTogether);
  std::memcpy(&letters, four, sizeof(letters));
  letters ^= letters >> 15;
  return (letters * 0x9e3779b1u) >> shift_;
}

void TermLetters::find(std::string_view letters, const char* bytes,
                       const std::function<void(std::string_view)>& visit) const {
  std::span<const uint32_t> rarest = places(group_of(letters.data()));
  for (size_t i = 1; i + kTogether <= letters.size() && !rarest.empty(); ++i) {
    const std::span<const uint32_t> others = places(group_of(letters.data() + i));
    if (others.size() < rarest.size()) rarest = others;
  }
  uint32_t last = 0xffffffffu;
  for (const uint32_t at : rarest) {
    if (at == last) continue;
    last = at;
    const std::string_view term = term_behind(bytes + at);
    if (term.find(letters) != std::string_view::npos) visit(term);
  }
}

size_t TermLetters::memory_bytes() const noexcept {
  const size_t n_groups = size_t{1} << (32 - shift_);
  return sizeof(*this) + base::held_bytes((n_groups + 1) * sizeof(uint32_t)) +
         base::held_bytes(begins_[n_groups] * sizeof(uint32_t));
}

void find_in_terms(std::string_view letters, std::string_view bytes, size_t from,
                   const std::function<void(std::string_view)>& visit) {
  const std::boyer_moore_horspool_searcher searcher(letters.begin(), letters.end());
  size_t term_at = from;  // of the length byte of a term, at or before the match
  while (from < bytes.size()) {
    const auto match = std::search(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(), searcher);
    if (match == bytes.end()) return;
    const auto at = static_cast<size_t>(match - bytes.begin());
    const auto end_of = [&] { return term_at + 1 + static_cast<unsigned char>(bytes[term_at]); };
    while (end_of() <= at) term_at = end_of();
    if (at > term_at && at + letters.size() <= end_of()) {
      const std::string_view term = term_behind(bytes.data() + term_at);
      if (may_be_compound(term)) visit(term);
      from = end_of();
    } else {
      from = at + 1;  // a length byte in the match
    }
  }
}

}  // namespace scrubjay::lexical
