// Term keys: 64-bit keys of terms in dictionaries and postings.
//
// Terms of 1..7 bytes are packed and can be compared by key alone; longer ones are hashed, and a dictionary
// verifies the bytes, because two long terms may have the same key. In memory the hash is seeded per process:
// colliding words cannot be constructed. Stored data carries the fixed hash: that mapping is part of the
// index format, and differs for long terms only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"
#include "base/seeded_hash.hpp"

namespace scrubjay::text {

inline constexpr size_t kMaxTermBytes = 255;
inline constexpr size_t kMaxPackedBytes = 7;
inline constexpr uint64_t kHashedTermFlag = 0x80ull << 56;
inline constexpr uint64_t kPackedBytes = (uint64_t{1} << 56) - 1;  // the bytes of a packed key

// True if the key holds the term itself (see term_key).
[[nodiscard]] inline constexpr bool is_packed(uint64_t key) noexcept { return (key & kHashedTermFlag) == 0; }

// 1..7 bytes: the bytes little-endian in the low 56 bits, the length in the top byte (injective).
[[nodiscard]] inline uint64_t packed_term_key(std::string_view term) noexcept {
  return base::load_bytes(term.data(), term.size()) | (uint64_t{term.size()} << 56);
}
// Longer: the top bit, then the low 56 bits of a hash.
[[nodiscard]] inline constexpr uint64_t hashed_term_key(uint64_t hash) noexcept {
  return kHashedTermFlag | (hash & kPackedBytes);
}

// Key in memory.
[[nodiscard]] inline uint64_t term_key(std::string_view term) noexcept {
  return term.size() <= kMaxPackedBytes ? packed_term_key(term) : hashed_term_key(base::seeded_hash64(term));
}
// Key in images and digests.
[[nodiscard]] inline uint64_t stored_term_key(std::string_view term) noexcept {
  return term.size() <= kMaxPackedBytes ? packed_term_key(term) : hashed_term_key(base::hash64(term));
}

}  // namespace scrubjay::text
