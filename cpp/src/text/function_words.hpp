// Function words of a query: English words that say how the others belong together, not what is asked about.
//
// The 127 of Snowball's list ("what", "did", "the", ...), as written in the query's text: a text in which
// nothing else is asked keeps its words, and a word that looks like a name is not one of them. A word with a
// capital looks like a name if it is written in capitals (IT, US) or does not begin a sentence (The Who), in a
// text with a word in small letters; I is no name. What is before an apostrophe counts (what's), negations are
// one word (didn't). A term that is a name somewhere in the text is one everywhere.
// A word that asks together with the one before it says no more than that: "how many", "how much", "what kind of",
// "which types of", unless the text has it elsewhere, too ("what kind of kind words").
// Those of other languages: foreign_function_words.hpp. tests/reference/function_words.py is the twin.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Whether a word of small ASCII letters is one of them.
[[nodiscard]] bool is_function_word(std::string_view word) noexcept;
// All of them, with spaces between.
[[nodiscard]] std::string_view all_function_words() noexcept;

// Finds those of one text after the other; reuse one per thread.
class FunctionWords {
 public:
  // The terms of the text's function words by their keys (term_key()), perhaps several times. Valid until the
  // next call.
  [[nodiscard]] std::span<const uint64_t> find(std::string_view utf8);

 private:
  struct Occurrence {
    uint32_t word;
    bool named;  // if capitals say something in this text
  };
  // If the word that ends at `end` and what is behind it ask together, keeps the term of that.
  void find_asking(std::string_view utf8, size_t end, bool how);
  // Those of the kept terms that the text has nowhere else.
  void add_asking(std::string_view utf8);

  std::vector<Occurrence> found_;
  std::vector<uint64_t> asking_;
  std::vector<uint64_t> keys_;
};

}  // namespace scrubjay::text
