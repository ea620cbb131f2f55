// Possible stems: which words of a text may have one of a few English stems.
//
// A stem of two letters or more begins with the first two letters of its word (but for dying, lying and tying):
// the rules change only what is behind them, or leave one letter. Of the words that pass, those are excluded
// that certainly keep other letters (kept_letters.hpp), which costs a fourth of stemming them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/characters.hpp"
#include "text/kept_letters.hpp"

namespace scrubjay::text {

class PossibleStems {
 public:
  PossibleStems() = default;
  explicit PossibleStems(std::string_view stem) { add(stem); }

  // The stem must outlive this. Those with other characters than a to z at the beginning are ignored: no word
  // of letters has them.
  void add(std::string_view stem) {
    if (stem.empty() || !is_lower(stem.front()) || (stem.size() > 1 && !is_lower(stem[1]))) return;
    second_letters_[index_of(stem.front())] |= stem.size() == 1 ? kAnyLetter : bit_of(stem[1]) | bit_of('y');
    stems_.push_back(stem);
  }
  [[nodiscard]] bool none() const noexcept { return stems_.empty(); }

  // Whether the word, of at least two ASCII letters in either case, may have one of the stems; may give false
  // positives.
  [[nodiscard]] bool may_be_of(std::string_view word) const noexcept {
    if ((second_letters_[index_of(to_lower(word[0]))] & bit_of(to_lower(word[1]))) == 0) return false;
    if (word.size() > kMostKeptBytes) return true;
    PaddedWord small(word);
    for (size_t i = 0; i < word.size(); ++i) small.letters()[i] |= 0x20;
    const size_t n_kept = kept_letters(small);
    const std::string_view kept = small.view().substr(0, n_kept);
    return std::any_of(stems_.begin(), stems_.end(), [&](std::string_view stem) {
      if (stem.front() != kept.front()) return false;  // most, without a call
      return n_kept == word.size() ? stem == kept : stem.starts_with(kept);
    });
  }

 private:
  static constexpr uint32_t kAnyLetter = (uint32_t{1} << 26) - 1;
  [[nodiscard]] static size_t index_of(char letter) noexcept { return static_cast<size_t>(letter - 'a'); }
  [[nodiscard]] static uint32_t bit_of(char letter) noexcept { return uint32_t{1} << index_of(letter); }

  // For each first letter, the second letters of words with one of the stems; y of those in -ying, too.
  std::array<uint32_t, 26> second_letters_{};
  std::vector<std::string_view> stems_;
};

}  // namespace scrubjay::text
