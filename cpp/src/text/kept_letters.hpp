// Kept letters: the number of letters of a word that its Porter2 stem certainly begins with, from
// the endings alone.
//
// The stemmer removes endings step by step, and some steps replace an ending by a few letters. Whatever the
// regions and preceding letters allow, the stem thus begins with the letters before the leftmost position
// that is reached by going backwards from ending to ending, over all endings that some step knows. A word
// without such an ending is its own stem. Much cheaper than stemming, and enough to prove that no document
// can have the stem (engine/spelling.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace scrubjay::text {

inline constexpr size_t kMostKeptBytes = 26;  // of a word

// A word of lower-case ASCII letters with leading zeros, so that eight bytes can be read before any position.
class PaddedWord {
 public:
  PaddedWord() = default;
  explicit PaddedWord(std::string_view word) noexcept : n_(word.size()) {
    std::memcpy(bytes_.data() + kPad, word.data(), word.size());
  }
  [[nodiscard]] size_t size() const noexcept { return n_; }
  [[nodiscard]] char* letters() noexcept { return bytes_.data() + kPad; }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data() + kPad, n_}; }
  void resize(size_t n) noexcept { n_ = n; }
  void append(std::string_view more) noexcept {
    std::memcpy(letters() + n_, more.data(), more.size());
    n_ += more.size();
  }

  // The eight bytes before position `end`, the last one in the highest byte.
  [[nodiscard]] uint64_t before(size_t end) const noexcept { return load(bytes_.data() + end); }
  // The first eight bytes, the first one in the lowest byte; bytes after the word are unspecified.
  [[nodiscard]] uint64_t beginning() const noexcept { return load(bytes_.data() + kPad); }

 private:
  static constexpr size_t kPad = 8;
  [[nodiscard]] static uint64_t load(const char* from) noexcept {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; ++i)
      bytes |= static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
    return bytes;
  }

  std::array<char, kPad + kMostKeptBytes + kPad> bytes_{};
  size_t n_ = 0;
};

// Letters that a step may test at the end of the word, and the number of them that it may change or remove.
struct Ending {
  uint64_t letters;  // the last one in the highest byte
  uint8_t n, n_changed;
};

// The endings whose last letter is this one, a to z.
[[nodiscard]] std::span<const Ending> endings_with(char last) noexcept;
// Those of them that a word may end with whose last eight bytes are these, as PaddedWord::before() returns them:
// with its last two letters, or of one letter.
[[nodiscard]] std::span<const Ending> endings_of(uint64_t before) noexcept;
// The endings of two letters or more whose last letter but one is this one, and those of one letter.
[[nodiscard]] std::span<const Ending> endings_with_second(char second_last) noexcept;
[[nodiscard]] std::span<const Ending> one_letter_endings() noexcept;

// A lower bound on the length of the common prefix of the word (of at most kMostKeptBytes) and its stem; at
// least 1.
[[nodiscard]] size_t kept_letters(const PaddedWord& word) noexcept;

}  // namespace scrubjay::text
