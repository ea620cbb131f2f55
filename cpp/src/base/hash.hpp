// Fixed hashing: maps bytes to a 64-bit number that is the same on every machine and in every process.
//
// For hashes that are stored or compared across processes: keys in images, digests, checksums. A
// multiply-and-fold hash (the mixing step of wyhash, Wang Yi 2019), neither keyed nor cryptographic: an
// attacker can construct collisions, so in-memory tables use seeded_hash.hpp instead. Values are persisted,
// so this function never changes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace scrubjay::base {

// Folds the two halves of the 128-bit product into one: every input bit affects every output bit.
[[nodiscard]] inline uint64_t mix64(uint64_t a, uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
  __extension__ using u128 = unsigned __int128;
  const u128 product = static_cast<u128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  const uint64_t a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
  const uint64_t low = a_low * b_low, mid1 = a_high * b_low, mid2 = a_low * b_high, high = a_high * b_high;
  const uint64_t carry = ((low >> 32) + (mid1 & 0xffffffffu) + (mid2 & 0xffffffffu)) >> 32;
  return (low + (mid1 << 32) + (mid2 << 32)) ^ (high + (mid1 >> 32) + (mid2 >> 32) + carry);
#endif
}

// Loads up to eight bytes, little-endian, zero-filled. Four or more bytes are loaded by two loads
// that may overlap.
[[nodiscard]] inline uint64_t load_bytes(const char* data, size_t size) noexcept {
  if (std::endian::native == std::endian::little && size >= 4) {
    uint32_t first, last;
    std::memcpy(&first, data, 4);
    std::memcpy(&last, data + size - 4, 4);
    return first | static_cast<uint64_t>(last) << (8 * (size - 4));
  }
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i)
    word |= static_cast<uint64_t>(static_cast<unsigned char>(data[i])) << (8 * i);
  return word;
}

[[nodiscard]] inline uint64_t hash64(std::string_view bytes) noexcept {
  constexpr uint64_t kSecret0 = 0xa0761d6478bd642full, kSecret1 = 0xe7037ed1a0b428dbull;
  const char* data = bytes.data();
  size_t left = bytes.size();
  uint64_t state = kSecret0 ^ mix64(left ^ kSecret0, kSecret1);
  while (left > 8) {
    state = mix64(load_bytes(data, 8) ^ kSecret1, state);
    data += 8;
    left -= 8;
  }
  return mix64(mix64(load_bytes(data, left) ^ kSecret1, state), kSecret0);
}

}  // namespace scrubjay::base
