// Function words of a question that is not in English: of German, French, Spanish, Italian, Portuguese, Dutch and
// Scandinavian (Danish, Norwegian and Swedish as one).
//
// A question is in the language with the most telling words in it: at least two distinct ones, and more than English
// has; with a tie, in several. Telling are function words that neither English nor a name has, and of
// English those that no other language has: "die" and "was" tell nothing. Then all function words of the language
// are some of the question, but for those that stand in capitals somewhere in a text with small letters (LA, DE).
// Of a question in English or in a language without a list: none.
// tests/reference/foreign_function_words.py is the twin.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Finds those of one text after the other; reuse one per thread.
class ForeignFunctionWords {
 public:
  // Takes the text's distinct terms one after the other, by their keys (term_key()), after start().
  void start() noexcept;
  void add(uint64_t term) noexcept;
  // Whether the terms so far are in a language that has a list. `utf8`: the text.
  [[nodiscard]] bool any(std::string_view utf8);
  // Whether a term is one of them; after any() was true.
  [[nodiscard]] bool contains(uint64_t term) const noexcept;

 private:
  static constexpr size_t kMostLanguages = 8;

  uint8_t n_telling_[kMostLanguages] = {};  // by language, English first
  uint32_t languages_ = 0;                  // of the text, as bits
  std::vector<uint64_t> names_;             // terms of what stands in capitals
};

}  // namespace scrubjay::text
