// Text that is hard on an analyzer: characters that expand, combine, change the direction, or are invalid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "mutator.hpp"

namespace hostile {

struct Range {
  uint32_t first, last;
};

// A character of one of these ranges, as UTF-8, or as WTF-8 for surrogates.
inline constexpr Range kRanges[] = {
    {0xfdfa, 0xfdfa},    // 18 characters by NFKC
    {0x3300, 0x33ff},    // squared words
    {0xfb00, 0xfb06},    // ligatures
    {0x0130, 0x0130},    // folds to two
    {0x1e9e, 0x1e9e},    // folds to two
    {0x0300, 0x036f},    // combining marks
    {0x1d15e, 0x1d164},  // decompose in steps
    {0x1100, 0x11ff},    // jamo, which compose
    {0xac00, 0xd7a3},    // hangul
    {0x200b, 0x200f},    // zero width, directions
    {0x202a, 0x202e},    // directions
    {0x2060, 0x206f},    // invisible
    {0xfe00, 0xfe0f},    // variation selectors
    {0xff01, 0xffee},    // full and half width
    {0x00b2, 0x00be},    // superscripts, fractions
    {0x2150, 0x218b},    // fractions, Roman numerals
    {0x1d400, 0x1d7ff},  // mathematical letters and digits
    {0x4e00, 0x9fff},    // Han
    {0x20000, 0x2a6df},  // Han
    {0x3041, 0x30ff},    // kana
    {0x0e01, 0x0e5b},    // Thai
    {0x0600, 0x06ff},    // Arabic
    {0x0590, 0x05ff},    // Hebrew
    {0x0900, 0x0dff},    // Indic
    {0x1f1e6, 0x1f1ff},  // regional indicators
    {0x1f468, 0x1f9ff},  // emoji
    {0xd800, 0xdfff},    // surrogates
    {0x0000, 0x0020},    // controls
    {0x0085, 0x00ad},    // further spaces, the soft hyphen
    {0xe000, 0xf8ff},    // private use
    {0x10fff0, 0x10ffff},
};

inline constexpr std::string_view kPieces[] = {
    "a.",
    "a-",
    "-_",
    "_a",
    "@",
    "a@b.c",
    "://",
    "C++",
    "#1",
    "sk-stg-0041",
    "camelCase",
    "XMLHttp",
    "v2.1.3",
    "don't",
    "running",
    "\xc0\x80",
    "\xf4\x90\x80\x80",
    "\xe2\x82",
    "\xff",
    "\xed\xa0\x80\xed\xb0\x80",
    "\u2581",
    "<s>",
    "<s>>",
    "<0x41>",
    " ",
    "\n",
};

inline std::string encoded(uint32_t c) {
  std::string out;
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
  return out;
}

inline std::string piece(std::minstd_rand& random) {
  if (random() % 4 == 0) return std::string(kPieces[random() % std::size(kPieces)]);
  const Range range = kRanges[random() % std::size(kRanges)];
  return encoded(range.first + static_cast<uint32_t>(random()) % (range.last - range.first + 1));
}

// Inserts a piece at a random position: once, a few times, or as often as there is room.
inline size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  if (random() % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string inserted;
  const size_t n_pieces = 1 + random() % 4;
  for (size_t i = 0; i < n_pieces; ++i) inserted += piece(random);
  size_t n_times = random() % 4 == 0 ? random() % 2000 : 1 + random() % 3;
  std::string text(reinterpret_cast<const char*>(data), size);
  const size_t at = size == 0 ? 0 : random() % (size + 1);
  std::string middle;
  while (n_times-- != 0 && middle.size() + inserted.size() + size <= max_size) middle += inserted;
  text.insert(at, middle);
  text.resize(std::min(text.size(), max_size));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace hostile
