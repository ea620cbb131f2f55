// Runs: words, compounds and bigrams of a stretch of text between separators.
//
// A run is what the scanner cuts out of the text: the bytes between ASCII separators. Normalising run by run
// is equivalent to normalising the whole text first: ASCII characters never compose with a preceding
// character, and marks after a separator belong to no word either way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/draft.hpp"
#include "text/identifiers.hpp"
#include "text/word_terms.hpp"

namespace scrubjay::text {

// Turns one run at a time into tokens, in reusable buffers. Not thread-safe.
class RunTokens {
 public:
  // Takes over the tokens of a draft and clears it.
  using Flush = std::function<void(Draft&)>;

  // Appends the tokens of a non-empty run of any bytes to the draft; with `flush` the draft never holds more
  // than some thousand. Throws TextTooLarge.
  void add(std::string_view run, const TermRules& rules, Draft& draft, const Flush* flush = nullptr);

  // Returns the run without compatibility forms, curly apostrophes and thousands separators. Valid until the
  // next call.
  [[nodiscard]] std::string_view normalise(std::string_view run);

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  void add_word(std::string_view word);
  void add_joiners(std::string_view joiners);
  void add_break();
  void add_overlong();
  void flush_if_large();
  void add_piece(std::string_view piece);
  void add_words_of(std::string_view stretch);
  void add_bigrams(std::string_view stretch);

  TermMaker terms_;
  CompoundTokens compound_tokens_;
  Compound compound_;         // being parsed
  bool overlong_ = false;     // it has more than kMaxParts parts, which are plain words
  std::string_view pending_;  // joiners since the last word
  std::string sanitized_, normal_;
  std::vector<uint32_t> segments_;  // lengths
  std::vector<uint32_t> units_;     // unit offsets of a bigram stretch, and its end

  const TermRules* rules_ = nullptr;  // during add
  Draft* draft_ = nullptr;
  const Flush* flush_ = nullptr;
};

}  // namespace scrubjay::text
