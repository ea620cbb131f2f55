// Addressing of the tokenizer's tables, shared by their builder and their readers; not persisted. Seeded,
// since the vocabulary is public and texts are untrusted.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/seeded_hash.hpp"

namespace scrubjay::embed {

inline constexpr std::string_view kMarkerBytes = "\xe2\x96\x81";

[[nodiscard]] inline uint64_t hash_piece(std::string_view bytes, bool marked) noexcept {
  return base::seeded_hash64(bytes) ^ (marked ? base::process_hash_seed.masks[0] : 0);
}

// Two ids in 42 bits; the remaining bits hold the rank of their merge.
inline constexpr unsigned kIdBits = 21;
[[nodiscard]] constexpr uint64_t pair_key(uint32_t left, uint32_t right) noexcept {
  return (static_cast<uint64_t>(left) << kIdBits) | right;
}
[[nodiscard]] inline size_t pair_slot(uint64_t key, size_t mask) noexcept {
  return static_cast<size_t>(base::seeded_hash64(key)) & mask;
}
[[nodiscard]] inline size_t character_slot(char32_t character, size_t mask) noexcept {
  return static_cast<size_t>(base::seeded_hash64(uint64_t{character})) & mask;
}

}  // namespace scrubjay::embed
