// Spelling: which words of a query may be misspelt, and what may be meant.
//
// Words of 4 to 24 ASCII letters that stand alone. Not touched: parts of identifiers and compounds, what stands
// between double quotes, words in capitals (in a text with small letters), inner capitals, function words, names
// of months and days; and known words (known_words.hpp) are left alone by those who ask what is meant. What may be meant is at one edit: a letter too many, too few, wrong, or two neighbours
// exchanged (optimal string alignment); of words, not of stems, so that a misspelt suffix is found, too.
// tests/reference/spelling.py is the twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scrubjay::text {

inline constexpr size_t kLeastSpelledBytes = 4, kMostSpelledBytes = 24;

// A word of a text that may be misspelt.
struct SpelledWord {
  size_t at;
  size_t n_bytes;
};

inline constexpr uint32_t kAnyLetter = (uint32_t{1} << 26) - 1;

// In the order of the text. `first_letters`, a the lowest bit: only words that begin with one of these, in either case.
void find_spelled_words(std::string_view utf8, std::vector<SpelledWord>& out,
                        uint32_t first_letters = kAnyLetter);

// Whether the words are at one edit from each other.
[[nodiscard]] bool is_one_edit(std::string_view a, std::string_view b) noexcept;

// The word with s for z, or z for s, where British and American spelling differ: behind the last i or y that is followed
// by one of them and more (organise, organization, analyzed). Empty: there is no such place behind the third letter.
[[nodiscard]] std::string other_spelling(std::string_view word);

// Calls visit(other) for every word at one edit from `word` (small ASCII letters), some of them twice: 54 n + 25 at
// most for n letters. `other` is valid until visit() returns.
template <class Visit>
void visit_edits(std::string_view word, Visit&& visit) {
  std::string other;
  for (size_t i = 0; i < word.size(); ++i) {
    other.assign(word.substr(0, i)).append(word.substr(i + 1));
    visit(std::string_view(other));
  }
  other = word;
  for (size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] == word[i + 1]) continue;
    std::swap(other[i], other[i + 1]);
    visit(std::string_view(other));
    std::swap(other[i], other[i + 1]);
  }
  for (size_t i = 0; i < word.size(); ++i) {
    for (char c = 'a'; c <= 'z'; ++c) {
      if (c == word[i]) continue;
      other[i] = c;
      visit(std::string_view(other));
    }
    other[i] = word[i];
  }
  for (size_t i = 0; i <= word.size(); ++i) {
    other.assign(word.substr(0, i)).append(1, 'a').append(word.substr(i));
    for (char c = 'a'; c <= 'z'; ++c) {
      other[i] = c;
      visit(std::string_view(other));
    }
  }
}

}  // namespace scrubjay::text
