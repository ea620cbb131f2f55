// Two edits: the terms that a long word with two typing errors may mean.
//
// Edits as in spelling.hpp (optimal string alignment). Of a stem's words only those in documents are known,
// so a stem is compared with the beginnings of the word: it may be meant if it is two edits from one of them
// and is the stem of itself with the rest of the word behind it; or if it is at most one edit from one of them
// that at most kMostEnding letters follow, where the other error may be. A final i of a stem may stand for a
// y. A comparison takes some twenty instructions a letter and ends when all distances exceed two: usually after
// four letters. Reference: tests/reference/spelling.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scrubjay::text {

class TwoEdits {
 public:
  static constexpr size_t kLeastBytes = 8;  // of a word, and of the one that is meant
  static constexpr size_t kLeastTermBytes = 4, kLeastStemWithEnding = 5, kMostEnding = 7;
  static constexpr int kMostOtherLetters = 2;

  // `word`: kLeastBytes to 24 lower-case ASCII letters, valid as long as this. `stems`: terms are English
  // stems; otherwise they are compared with the whole word.
  TwoEdits(std::string_view word, bool stems) noexcept;

  // What every term that may be meant has: the word's first letter, at most kMostOtherLetters distinct letters
  // outside these (lowest bit: a), and a beginning that is near by these places (simd/kernels.hpp,
  // near_beginnings).
  [[nodiscard]] char first() const noexcept { return word_.front(); }
  [[nodiscard]] uint32_t letters() const noexcept { return letters_; }
  [[nodiscard]] std::array<uint32_t, 32> places() const noexcept;
  // Whether words with this term may be meant. `term`: of letters a to z.
  [[nodiscard]] bool may_mean(std::string_view term) const noexcept;
  // Whether a word of a document, of letters a to z, may be meant: it is at most two edits away, and has at least
  // kLeastBytes letters and the same first letter. Unknown words that are right are too often two edits from a
  // shorter word ("accessor", "access").
  [[nodiscard]] bool is_meant(std::string_view written) const noexcept;

 private:
  // For no edit, at most one and at most two: the lengths (bits) of the beginnings of the word at that distance.
  using Beginnings = std::array<uint32_t, 3>;
  [[nodiscard]] Beginnings beginnings_near(std::string_view a) const noexcept;
  [[nodiscard]] bool is_stem_of_word(std::string_view term, std::string_view written) const noexcept;

  std::string_view word_;
  bool stems_;
  uint32_t letters_ = 0;
  std::array<uint32_t, 26> places_{};  // of each letter in the word, bits
};

}  // namespace scrubjay::text
