// How are the tokenizer's tables addressed? Shared by what fills them and what reads them; nothing is
// persisted.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"

namespace scrubjay::embed {

inline constexpr std::string_view kMarkerBytes = "\xe2\x96\x81";

// Reads whole words, which base::hash64 does not.
[[nodiscard]] inline uint64_t hash_piece(std::string_view bytes, bool marked) noexcept {
  constexpr uint64_t kA = 0x9e3779b97f4a7c15ull, kB = 0xd6e8feb86659fd93ull;
  const auto word = [&](size_t at, size_t n) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, n);
    return value;
  };
  uint64_t state = kA ^ (static_cast<uint64_t>(bytes.size()) << 1) ^ (marked ? 1u : 0u);
  for (size_t at = 0; at + 8 < bytes.size(); at += 8) state = base::mix64(state ^ word(at, 8), kB);
  uint64_t last = 0;
  if (bytes.size() >= 8) {
    last = word(bytes.size() - 8, 8);
  } else if (bytes.size() >= 4) {
    last = word(0, 4) | (word(bytes.size() - 4, 4) << 32);
  } else {
    for (const char byte : bytes) last = (last << 8) | static_cast<unsigned char>(byte);
  }
  return base::mix64(state ^ last, kA);
}

// Two ids in 42 bits; 21 more hold the rank of their merge.
inline constexpr unsigned kIdBits = 21;
[[nodiscard]] constexpr uint64_t pair_key(uint32_t left, uint32_t right) noexcept {
  return (static_cast<uint64_t>(left) << kIdBits) | right;
}
[[nodiscard]] inline size_t pair_slot(uint64_t key, size_t mask) noexcept {
  return static_cast<size_t>(base::mix64(key, 0x9e3779b97f4a7c15ull)) & mask;
}
[[nodiscard]] constexpr size_t character_slot(char32_t character, size_t mask) noexcept {
  return ((static_cast<size_t>(character) * 0x9e3779b1u) >> 7) & mask;
}

}  // namespace scrubjay::embed
