// Two edits: the terms that a long word with two typing errors may mean.
//
// Edits as in spelling.hpp (optimal string alignment). Of a stem's words only those in documents are known,
// so a stem is compared with the beginnings of the word: it may be meant if it is two edits from one of them
// and is the stem of itself with the rest of the word behind it; or if it is at most one edit from one of them
// that at most kMostEnding letters follow, where the other error may be. A final i of a stem may stand for a
// y. Most terms have three letters that the word does not have near their positions, and are not compared
// further; comparisons keep a band of five distances a row and end when all exceed two. Reference:
// tests/reference/spelling.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scrubjay::text {

// Whether b is at edit distance two or less from a.
[[nodiscard]] bool is_within_two_edits(std::string_view a, std::string_view b) noexcept;

// Whether a word of a document may be meant by a typed word with two typing errors: both have at least
// TwoEdits::kLeastBytes letters and the same first letter. Unknown words that are right are too often two edits
// from a shorter word ("accessor", "access").
[[nodiscard]] bool is_meant_with_two_edits(std::string_view typed, std::string_view written) noexcept;

class TwoEdits {
 public:
  static constexpr size_t kLeastBytes = 8;  // of a word, and of the one that is meant
  static constexpr size_t kLeastTermBytes = 4, kLeastStemWithEnding = 5, kMostEnding = 7;
  static constexpr int kMostOtherLetters = 2;  // distinct letters of a term that the word does not have

  // `word`: kLeastBytes to 24 lower-case ASCII letters, valid as long as this. `stems`: terms are English
  // stems; otherwise they are compared with the whole word.
  TwoEdits(std::string_view word, bool stems) noexcept;

  // The letters of the word (lowest bit: a); of a stem also i for y.
  [[nodiscard]] uint32_t letters() const noexcept { return letters_; }
  // `term`: of letters a to z.
  [[nodiscard]] bool may_mean(std::string_view term) const noexcept;

 private:
  static constexpr size_t kMostBytes = 24;  // of a word

  [[nodiscard]] bool may_begin_like(std::string_view term) const noexcept;
  [[nodiscard]] bool is_stem_of_word(std::string_view term, std::string_view written) const noexcept;

  std::string_view word_;
  bool stems_;
  uint32_t letters_ = 0;
  // For each position of a term: the letters of the word at most two positions away.
  std::array<uint32_t, kMostBytes + 2> near_{};
};

}  // namespace scrubjay::text
