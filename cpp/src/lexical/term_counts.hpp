// Term counts: the distinct terms of a text and their frequencies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/growing.hpp"
#include "base/probing.hpp"
#include "text/analyzer.hpp"

namespace scrubjay::lexical {

struct TermCount {
  std::string_view term;
  uint64_t key;    // text::term_key(term)
  uint32_t count;  // occurrences of any kind
  bool counts;     // it occurs as a word or part, not only as a whole or joined form of an identifier
};

// Counts the terms of analysed texts; reuse one per thread to avoid allocation.
class TermCounter {
 public:
  // Returns the distinct terms in order of first appearance. The views are those of `tokens`; the span lives
  // until the next call.
  [[nodiscard]] std::span<const TermCount> count(std::span<const text::Token> tokens);

  // Same as count() of all portions together: start(), add() for each, terms(). The views are the counter's
  // own; they are empty for terms that are packed in their key (text::is_packed).
  void start();
  void add(std::span<const text::Token> tokens);
  [[nodiscard]] std::span<const TermCount> terms() const noexcept { return terms_; }

  // Number of tokens of the last count() that count towards the document's length.
  [[nodiscard]] uint32_t length() const noexcept { return length_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return terms_.capacity() * sizeof(TermCount) + table_.capacity() * sizeof(uint32_t) +
           (bytes_ ? bytes_->memory_bytes() : 0);
  }

 private:
  void count_few(std::span<const text::Token> tokens);
  [[nodiscard]] bool count_all(std::span<const text::Token> tokens);
  [[nodiscard]] bool add(const text::Token& token, size_t mask);
  void rehash(size_t n_slots);

  std::vector<TermCount> terms_;
  std::vector<uint32_t> table_;  // open addressing; index + 1 into terms_, 0 = empty
  base::Probing probing_ = base::Probing::fresh();
  std::unique_ptr<base::ByteArena> bytes_;  // for the long terms of portions
  uint32_t length_ = 0;
};

}  // namespace scrubjay::lexical
