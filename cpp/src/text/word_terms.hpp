// Word terms: the term of a word, by folding and, for alphabetic words, stemming.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/analyzer.hpp"
#include "text/fold.hpp"
#include "text/snowball.hpp"

namespace scrubjay::text {

// Cache of a custom stemmer's stems per distinct word. Thread-safe; bounded: cleared when full.
class StemMemo {
 public:
  explicit StemMemo(Stemmer stemmer);
  ~StemMemo();

  // stemmer(word), made well-formed UTF-8. The stemmer runs without a lock: it may take one of its
  // own (the GIL).
  [[nodiscard]] std::string stem(std::string_view word) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class Stemming : uint8_t { none, english, snowball, custom };

// An analyzer's rules for terms; shared by all threads.
struct TermRules {
  Stemming stemming = Stemming::english;
  const snowball::Program* program = nullptr;  // for Stemming::snowball
  std::unique_ptr<StemMemo> memo;              // for Stemming::custom
};

// Makes one term at a time in reusable buffers. The views are valid until the next call. Not thread-safe.
class TermMaker {
 public:
  // Returns the term of a word or part: folded, and stemmed if it has no digit. The plural s of an acronym is
  // removed (TVs).
  [[nodiscard]] std::string_view word(std::string_view text, const TermRules& rules);

  // Same as word(letters, rules), for ASCII letters that are not the plural of an acronym.
  [[nodiscard]] std::string_view plain_word(std::string_view letters, const TermRules& rules);

  // Removes case and accents only.
  [[nodiscard]] std::string_view folded(std::string_view text) { return folder_.fold(text); }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return folder_.memory_bytes() + stem_.capacity() + stemmer_.memory_bytes();
  }

 private:
  Folder folder_;
  snowball::Stemmer stemmer_;
  std::string stem_;
};

// [A-Z]{2,}s
[[nodiscard]] bool is_acronym_plural(std::string_view word) noexcept;
[[nodiscard]] bool has_digit(std::string_view text) noexcept;

}  // namespace scrubjay::text
