// Runs: words, compounds and bigrams of a stretch of text between separators.
//
// A run is what the scanner cuts out of the text: bytes between ASCII separators. Normalising run by run is
// as if the whole text were normalised first: ASCII characters never compose with what stands before them,
// and marks that follow a separator belong to no word either way.
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

// Turns runs into tokens, one after the other; keeps its buffers. Not thread-safe.
class RunTokens {
 public:
  // Takes the tokens of a draft over and clears it.
  using Flush = std::function<void(Draft&)>;

  // Appends the tokens of a run of any bytes, at least one, to the draft; with `flush` no more than some
  // thousand at a time. TextTooLarge.
  void add(std::string_view run, const TermRules& rules, Draft& draft, const Flush* flush = nullptr);

  // The run with compatibility forms, curly apostrophes and thousands separators gone. Valid until the next
  // call.
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
  Compound compound_;         // being read
  bool overlong_ = false;     // it has more than kMaxParts, which are plain words
  std::string_view pending_;  // joiners since the last word
  std::string sanitized_, normal_;
  std::vector<uint32_t> segments_;  // lengths
  std::vector<uint32_t> units_;     // offsets of the units of a bigram stretch, and its end

  const TermRules* rules_ = nullptr;  // during add
  Draft* draft_ = nullptr;
  const Flush* flush_ = nullptr;
};

}  // namespace scrubjay::text
