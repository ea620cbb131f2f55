// Identifiers: the tokens of a compound (words joined without a space).
//
// The rules are at the top of analyzer.hpp. Reference: tests/reference/analyzer.py.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/draft.hpp"
#include "text/word_terms.hpp"

namespace scrubjay::text {

// A compound of more parts is not an identifier: its parts are plain words (runs.cpp).
inline constexpr size_t kMaxParts = 32;

// parts[0] joiners[0] parts[1] ...: adjacent views into the normalised run.
struct Compound {
  std::vector<std::string_view> parts, joiners;
  std::string_view before, after;  // the joiners directly before the first and after the last part

  void clear() noexcept {
    parts.clear();
    joiners.clear();
    before = after = {};
  }
};

// Whether a sequence of joiners connects two words: one joiner, "::", or underscores. "--", "..." and "://"
// separate words.
[[nodiscard]] bool joins(std::string_view joiners) noexcept;

// Turns one compound at a time into tokens, in reusable buffers. Not thread-safe.
class CompoundTokens {
 public:
  // Appends the tokens to the draft. At most kMaxParts parts. Consumes the compound: apostrophes
  // change its parts.
  void add(Compound& compound, TermMaker& terms, const TermRules& rules, Draft& draft);

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  struct Range {  // of parts: [first, last)
    size_t first, last;
  };
  class Adder;

  std::string joined_;                    // parts without their joiners
  std::string written_;                   // a part sequence as written
  std::string contractions_;              // "dont" and the like
  std::vector<std::string_view> pieces_;  // of the current part
  std::vector<Range> ranges_;
  std::vector<Draft::Item> items_;  // of the current compound, before duplicates are removed
};

}  // namespace scrubjay::text
