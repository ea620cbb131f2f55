// Spelling: the query words that may be misspelt, and their possible corrections.
//
// Words of 4 to 24 ASCII letters that stand alone. Excluded: parts of identifiers and compounds, text in
// double quotes, words in capitals (in a text with lower-case letters), words with inner capitals, function
// words, and names of months and days. Known words (known_words.hpp) are left alone by the caller. Candidates
// are at edit distance one: a letter too many, missing or wrong, or two neighbours exchanged (optimal string
// alignment); of words, not of stems, so that a misspelt suffix is found, too. For long words also at edit
// distance two (two_edits.hpp). Reference: tests/reference/spelling.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/possible_stems.hpp"

namespace scrubjay::text {

inline constexpr size_t kLeastSpelledBytes = 4, kMostSpelledBytes = 24;

// A word of a text that may be misspelt.
struct SpelledWord {
  size_t at;
  size_t n_bytes;
};

// In the order of the text. `stems`: only words that may have one of these; null: all.
void find_spelled_words(std::string_view utf8, std::vector<SpelledWord>& out,
                        const PossibleStems* stems = nullptr);

// Whether the words are at edit distance one.
[[nodiscard]] bool is_one_edit(std::string_view a, std::string_view b) noexcept;

// Returns the word with s for z, or z for s, where British and American spelling differ: after the last i or
// y that is followed by one of them and more letters (organise, organization, analyzed). Empty if there is no
// such position after the third letter.
[[nodiscard]] std::string other_spelling(std::string_view word);

// Calls visit(other) for every word at edit distance one from `word` (lower-case ASCII letters), for some
// twice: at most 54 n + 25 for n letters. `other` is valid until visit() returns.
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
