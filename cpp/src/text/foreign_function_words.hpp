// Function words of a question in German, French, Spanish, Italian, Portuguese, Dutch or Scandinavian
// (Danish, Norwegian and Swedish as one).
//
// A question is in the language with the most distinctive words in it: at least two distinct ones, and more
// than English has; in case of a tie, in several. Distinctive words are function words that are neither
// English nor names; for English, those that no other language has: "die" and "was" are not distinctive. All
// function words of the language are then function words of the question, except those that are written in
// capitals somewhere in a text that has lower-case letters (LA, DE). A question in English, or in a language
// without a list, has none. Reference: tests/reference/foreign_function_words.py.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Processes one text at a time; reuse one per thread.
class ForeignFunctionWords {
 public:
  // After start(), add() takes the keys (term_key()) of the text's distinct terms one by one.
  void start() noexcept;
  void add(uint64_t term) noexcept;
  // Whether the terms added so far are in a language with a list. `utf8`: the text.
  [[nodiscard]] bool any(std::string_view utf8);
  // Whether a term is a function word; only after any() returned true.
  [[nodiscard]] bool contains(uint64_t term) const noexcept;

 private:
  static constexpr size_t kMostLanguages = 8;

  uint8_t n_telling_[kMostLanguages] = {};  // by language, English first
  uint32_t languages_ = 0;                  // of the text, as bits
  std::vector<uint64_t> names_;             // terms of words in capitals
};

}  // namespace scrubjay::text
