// The known words that are nearest to an unknown one (spelling.hpp).
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "base/interruption.hpp"
#include "engine/spelling.hpp"
#include "lexical/term_prefixes.hpp"
#include "text/characters.hpp"
#include "text/plausible_edits.hpp"
#include "text/two_edits.hpp"

namespace scrubjay::engine {

namespace {

// The prefixes of several chunks, with the interface that text::PlausibleEdits requires.
struct AnyPrefixes {
  std::span<const lexical::TermPrefixes* const> each;

  [[nodiscard]] bool may_hold(uint64_t bytes) const noexcept {
    return std::any_of(each.begin(), each.end(),
                       [&](const lexical::TermPrefixes* prefixes) { return prefixes->may_hold(bytes); });
  }
  [[nodiscard]] uint32_t letters_behind(uint64_t bytes) const noexcept {
    uint32_t found = 0;
    for (const lexical::TermPrefixes* prefixes : each) found |= prefixes->letters_behind(bytes);
    return found;
  }
  [[nodiscard]] uint32_t letters_at(size_t place, uint64_t bytes, uint32_t letters) const noexcept {
    uint32_t found = 0;
    for (const lexical::TermPrefixes* prefixes : each) found |= prefixes->letters_at(place, bytes, letters);
    return found;
  }
};

text::SurfaceWords::Lengths lengths_around(size_t n, size_t n_edits) noexcept {
  text::SurfaceWords::Lengths lengths = 0;
  for (size_t length = n - n_edits; length <= n + n_edits; ++length)
    lengths |= text::SurfaceWords::length(length);
  return lengths;
}

// The words of documents that can be among the others.
text::SurfaceWords::Wanted words_like(std::span<const SpelledTerms::Other> others) noexcept {
  text::SurfaceWords::Wanted wanted{0, others.front().word.front()};
  for (const SpelledTerms::Other& other : others) {
    wanted.lengths |= text::SurfaceWords::length(other.word.size());
    if (other.word.front() != wanted.first) wanted.first = 0;
  }
  return wanted;
}

}  // namespace

Spelling::Best Spelling::nearest(std::string_view typed, std::string_view typed_term) {
  base::interruption_point();
  const bool compares_terms = analyzer_.stems_slowly();
  const std::string_view word = compares_terms ? typed_term : typed;
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  others.clear();
  if (!std::all_of(word.begin(), word.end(), text::is_lower)) return {};
  if (word.size() <= text::PlausibleEdits::kMostBytes && find_prefixes()) {
    find_plausible_edits(word);
  } else {
    text::visit_edits(word, [&](std::string_view other) {
      if (other.empty()) return;
      std::string term(other);
      term.resize(analyzer_.quick_term(term.data(), term.size()));
      const uint64_t key = text::term_key(term);
      others.push_back({std::string(other), std::move(term), 0, key});
    });
  }
  // If terms are stems, the words of the documents are compared with the typed word.
  Best best =
      compares_terms
          ? first_standing(word.front(),
                           text::SurfaceWords::Wanted{.lengths = lengths_around(typed.size(), 1)},
                           [&](std::span<const SpelledTerms::Other>, std::string_view standing) {
                             return text::is_one_edit(standing, typed);
                           })
          : first_standing(
                word.front(), {}, [&](std::span<const SpelledTerms::Other> same, std::string_view standing) {
                  return std::any_of(same.begin(), same.end(), [&](const SpelledTerms::Other& other) {
                    return other.word == standing;
                  });
                });
  return best.word.empty() ? nearest_at_two_edits(typed, word) : best;
}

// The same for a long word without a known word at one edit.
Spelling::Best Spelling::nearest_at_two_edits(std::string_view typed, std::string_view word) {
  using text::TwoEdits;
  if (std::min(word.size(), typed.size()) < TwoEdits::kLeastBytes || word.size() > text::kMostSpelledBytes)
    return {};
  const TwoEdits edits(word, english_);
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  others.clear();
  for (const ChunkSnapshot& chunk : s_.chunks) {
    base::interruption_point();
    chunk.chunk->postings().find_near(edits, [&](std::string_view term) {
      others.push_back({std::string(term), std::string(term), 0, text::term_key(term)});
    });
  }
  const auto of_term = [](const SpelledTerms::Other& other) { return std::string_view(other.term); };
  std::ranges::sort(others, {}, of_term);
  const auto repeated = std::ranges::unique(others, {}, of_term);
  others.erase(repeated.begin(), repeated.end());
  const TwoEdits words(typed, false);
  return first_standing(word.front(),
                        text::SurfaceWords::Wanted{lengths_around(typed.size(), 2), typed.front()},
                        [&](std::span<const SpelledTerms::Other>, std::string_view standing) {
                          return words.is_meant(standing);
                        });
}

// Of the other words whose terms are known: the best one that occurs in a document and is_meant(words of the
// same term, word of the document). `wanted`: the documents' words to look at; unset: the other words.
Spelling::Best Spelling::first_standing(
    char first, std::optional<text::SurfaceWords::Wanted> wanted,
    const std::function<bool(std::span<const SpelledTerms::Other>, std::string_view)>& is_meant) {
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  look_up();
  std::erase_if(others, [](const SpelledTerms::Other& other) {
    return other.df == 0 || other.term.size() < kLeastTermBytes;
  });
  const auto is_other_letter = [&](const SpelledTerms::Other& other) { return other.word.front() != first; };
  std::sort(others.begin(), others.end(), [&](const SpelledTerms::Other& a, const SpelledTerms::Other& b) {
    return std::make_tuple(is_other_letter(a), b.df, std::string_view(a.term)) <
           std::make_tuple(is_other_letter(b), a.df, std::string_view(b.term));
  });
  size_t n_tried = 0;
  for (size_t from = 0, end; from < others.size() && n_tried < kMostTried; from = end, ++n_tried) {
    const bool other_letter = is_other_letter(others[from]);
    for (end = from + 1; end < others.size() && others[end].term == others[from].term; ++end) {
      if (is_other_letter(others[end]) != other_letter) break;
    }
    const std::span<const SpelledTerms::Other> same(others.data() + from, end - from);
    std::string word =
        standing_.first_of(s_.chunks, same.front().term, wanted ? *wanted : words_like(same),
                           [&](std::string_view standing) { return is_meant(same, standing); });
    if (!word.empty()) return {same.front().term, std::move(word)};
  }
  return {};
}

// Fills spelled.others with the edits whose terms may be known. Most edits are dropped by their term's bits in
// the filter, which are prefetched: only the others become strings.
void Spelling::find_plausible_edits(std::string_view word) {
  std::vector<SpelledTerms::Edit>& edits = s_.spelled.edits;
  edits.clear();
  const auto add = [&](std::string_view other, bool is_term) {
    SpelledTerms::Edit& edit = edits.emplace_back();
    edit.n_letters = edit.n_term_letters = static_cast<uint8_t>(other.size());
    std::copy(other.begin(), other.end(), edit.letters.begin());
    std::copy(other.begin(), other.end(), edit.term_letters.begin());
    if (!is_term)
      edit.n_term_letters =
          static_cast<uint8_t>(analyzer_.quick_term(edit.term_letters.data(), other.size()));
    edit.key = text::term_key(edit.term());
    for (const lexical::TermPrefixes* prefixes : s_.spelled.prefixes) prefixes->prefetch_term(edit.key);
  };
  text::PlausibleEdits(word, english_).visit(AnyPrefixes{s_.spelled.prefixes}, add);
  for (const SpelledTerms::Edit& edit : edits)
    if (may_be_known(edit.key))
      s_.spelled.others.push_back({std::string(edit.word()), std::string(edit.term()), 0, edit.key});
}

// Collects the prefixes of the terms of the visible chunks. Returns false if some are unknown.
bool Spelling::find_prefixes() {
  if (prefixes_known_) return *prefixes_known_;
  SpelledTerms& spelled = s_.spelled;
  spelled.prefixes.clear();
  bool any_tiny = false;
  prefixes_known_ = false;
  for (const ChunkSnapshot& chunk : s_.chunks) {
    const lexical::PostingTable& postings = chunk.chunk->postings();
    if (const lexical::TermPrefixes* prefixes = postings.prefixes()) {
      spelled.prefixes.push_back(prefixes);
      continue;
    }
    if (!spelled.tiny_prefixes)
      spelled.tiny_prefixes = std::make_unique<lexical::TermPrefixes>(SpelledTerms::kTinyTerms);
    if (!any_tiny) spelled.tiny_prefixes->clear();
    if (!postings.add_tiny_prefixes(*spelled.tiny_prefixes)) return false;
    any_tiny = true;
  }
  if (any_tiny) spelled.prefixes.push_back(spelled.tiny_prefixes.get());
  prefixes_known_ = true;
  return true;
}

// Whether a visible document may contain the term. Call after find_prefixes(); useful if that returned true.
bool Spelling::may_be_known(uint64_t key) const noexcept {
  return std::any_of(s_.spelled.prefixes.begin(), s_.spelled.prefixes.end(),
                     [&](const lexical::TermPrefixes* prefixes) { return prefixes->may_hold_term(key); });
}

}  // namespace scrubjay::engine
