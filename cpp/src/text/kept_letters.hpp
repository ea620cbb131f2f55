// Kept letters: how many letters of a word its Porter2 stem begins with, from the endings alone.
//
// The stemmer takes endings off, one step after another, and some steps write a few letters in the place of one. So
// whatever the regions and the letters before allow, the stem begins with what stands before the last place where an
// ending that some step knows could begin, going from ending to ending backwards. A word that ends in none of them is
// its own stem. Less than the stemmer's work by far, and enough to know that no document can hold the stem
// (engine/spelling.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace scrubjay::text {

inline constexpr size_t kMostKeptBytes = 26;  // of a word

// A word of small ASCII letters with zeros in front, so that eight bytes can be read before any of its places.
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

  // The eight bytes before place `end`, the last of them highest.
  [[nodiscard]] uint64_t before(size_t end) const noexcept { return load(bytes_.data() + end); }
  // The first eight, the first of them lowest; what is behind the word may be anything.
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

// Letters that a step may look for at the end of what is left, and how many of them it may change or take off.
struct Ending {
  uint64_t letters;  // the last of them highest
  uint8_t n, n_changed;
};

// Those that end with a letter, a to z.
[[nodiscard]] std::span<const Ending> endings_with(char last) noexcept;
[[nodiscard]] std::span<const Ending> all_endings() noexcept;

// At most how many letters the word (of at most kMostKeptBytes) and its stem begin with together, at least 1.
[[nodiscard]] size_t kept_letters(const PaddedWord& word) noexcept;

}  // namespace scrubjay::text
