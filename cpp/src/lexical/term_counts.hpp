// Term counts: which distinct terms does a text hold, and how often?
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::lexical {

struct TermCount {
  std::string_view term;
  uint64_t key;    // text::term_key(term)
  uint32_t count;  // occurrences of any kind
  bool counts;     // it occurs as a word or part, not only as a whole or joined identifier
};

// Counts the terms of analysed texts; reuse one per thread to avoid allocation.
class TermCounter {
 public:
  // Distinct terms in order of first appearance. The views are those of `tokens`; the span lives until the
  // next call.
  [[nodiscard]] std::span<const TermCount> count(std::span<const text::Token> tokens);

  // How many of the tokens of the last count() make up the document's length.
  [[nodiscard]] uint32_t length() const noexcept { return length_; }

 private:
  std::vector<TermCount> terms_;
  std::vector<uint32_t> table_;  // open addressing; index + 1 into terms_, 0 = empty
  uint32_t length_ = 0;
};

}  // namespace scrubjay::lexical
