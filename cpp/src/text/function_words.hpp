// Function words of a query: English words that connect the others and are not what the query asks about.
//
// The 127 words of Snowball's list ("what", "did", "the", ...), as written in the query. A text that consists
// only of function words keeps them, and a word that looks like a name is not a function word. In a text with
// a lower-case word, a capitalised word looks like a name if it is all capitals (IT, US) or does not begin a
// sentence (The Who); I is not a name. The part before an apostrophe counts (what's); negations are one word
// (didn't). A term that is a name somewhere in the text is one everywhere.
//
// A noun that only completes a question word is also dropped ("how many", "how much", "what kind of", "which
// types of"), unless the text has it elsewhere, too ("what kind of kind words"). So are pairs of hiragana in the
// endings of Japanese words (japanese_function_words.hpp). Other languages: foreign_function_words.hpp. Reference: tests/reference/function_words.py.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Whether a word of lower-case ASCII letters is a function word.
[[nodiscard]] bool is_function_word(std::string_view word) noexcept;
// All function words, separated by spaces.
[[nodiscard]] std::string_view all_function_words() noexcept;

// Processes one text at a time; reuse one per thread.
class FunctionWords {
 public:
  // Returns the keys (term_key()) of the terms of the text's function words, possibly with repetitions. Valid
  // until the next call.
  [[nodiscard]] std::span<const uint64_t> find(std::string_view utf8);
  // Those of the last find() that are pairs of hiragana.
  [[nodiscard]] std::span<const uint64_t> japanese() const noexcept {
    return std::span(keys_).subspan(n_english_);
  }

 private:
  struct Occurrence {
    uint32_t word;
    bool named;  // if capitals are meaningful in this text
  };
  // If the word that ends at `end` and the next words form a question phrase, remembers the term of its noun.
  void find_asking(std::string_view utf8, size_t end, bool how);
  // Adds the remembered terms that occur nowhere else in the text.
  void add_asking(std::string_view utf8);

  std::vector<Occurrence> found_;
  std::vector<uint64_t> asking_;
  std::vector<uint64_t> keys_;  // English ones first
  size_t n_english_ = 0;
};

}  // namespace scrubjay::text
