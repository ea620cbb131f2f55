// Term keys: which 64-bit number stands for a term in dictionaries and postings?
//
// Terms of 1..7 bytes are packed and can be compared by key alone; longer ones are hashed, and a dictionary
// verifies the bytes, because two long terms may share a key. Keys are persisted: the mapping is part of the
// index format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"

namespace scrubjay::text {

inline constexpr size_t kMaxTermBytes = 255;
inline constexpr size_t kMaxPackedBytes = 7;
inline constexpr uint64_t kHashedTermFlag = 0x80ull << 56;

// True if the key holds the term itself (see term_key).
[[nodiscard]] inline constexpr bool is_packed(uint64_t key) noexcept { return (key & kHashedTermFlag) == 0; }

// 1..7 bytes: the bytes little-endian in the low 56 bits, the length in the top byte (injective).
// Longer: the top bit, then the low 56 bits of hash64.
[[nodiscard]] inline uint64_t term_key(std::string_view term) noexcept {
  if (term.size() <= kMaxPackedBytes) {
    uint64_t packed = 0;
    for (size_t i = 0; i < term.size(); ++i)
      packed |= uint64_t{static_cast<unsigned char>(term[i])} << (8 * i);
    return packed | (uint64_t{term.size()} << 56);
  }
  return kHashedTermFlag | (base::hash64(term) & ((uint64_t{1} << 56) - 1));
}

}  // namespace scrubjay::text
