// Seeded hashing: maps untrusted bytes and integers to a 64-bit number that is unpredictable
// outside the process.
//
// For every in-memory table whose keys a caller chooses: terms, ids, scopes, field names, metadata. An
// attacker who knows the hash function can choose keys that collide, and one text then costs quadratic time
// (Crosby and Wallach 2003), so the function has secret words, drawn once per process from the system's
// randomness. Values that depend on them are never stored, compared across processes or visible in an order
// of results.
//
// Two multiply-and-fold steps (wyhash, Wang Yi 2019), every factor masked by a secret word, like the hashes
// of Go's maps on CPUs without AES: without knowledge of the words no factor can be made zero, and a
// difference between two inputs passes through two products. A child made by fork() keeps the words.
//
// If the environment variable SCRUBJAY_HASH_SEED is set and not empty, the words are derived from it (any
// text is a seed). It is for tests and for counting instructions only: an attacker who knows the seed can
// choose colliding keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"

namespace scrubjay::base {

struct HashSeed {
  uint64_t masks[3];
  uint64_t factors[2];  // odd

  [[nodiscard]] static HashSeed draw() noexcept;  // from the environment or the system
};

// Set before any other object that includes this header is initialised; constant afterwards.
inline const HashSeed process_hash_seed = HashSeed::draw();

[[nodiscard]] inline uint64_t seeded_hash64(uint64_t value) noexcept {
  const HashSeed& seed = process_hash_seed;
  return mix64(mix64(value ^ seed.masks[0], seed.factors[0]) ^ seed.masks[1], seed.factors[1]);
}

[[nodiscard]] inline uint64_t seeded_hash64(std::string_view bytes) noexcept {
  const HashSeed& seed = process_hash_seed;
  const auto load = [](const char* at, auto word) {
    std::memcpy(&word, at, sizeof word);
    return static_cast<uint64_t>(word);
  };
  const char* at = bytes.data();
  const size_t n = bytes.size();
  uint64_t state = seed.masks[1], first = 0, last = 0;
  if (n > 16) {
    size_t left = n;
    for (; left > 16; left -= 16, at += 16)
      state = mix64(load(at, uint64_t{}) ^ seed.masks[0], load(at + 8, uint64_t{}) ^ state);
    first = load(at + left - 16, uint64_t{});
    last = load(at + left - 8, uint64_t{});
  } else if (n >= 8) {
    first = load(at, uint64_t{});
    last = load(at + n - 8, uint64_t{});
  } else if (n >= 4) {
    first = load(at, uint32_t{});
    last = load(at + n - 4, uint32_t{});
  } else if (n != 0) {
    first = load(at, uint8_t{}) | load(at + n / 2, uint8_t{}) << 8 | load(at + n - 1, uint8_t{}) << 16;
  }
  return mix64(mix64(first ^ seed.masks[0], last ^ state), seed.masks[2] ^ n);
}

// The hash function of standard containers.
struct SeededHash {
  using is_transparent = void;
  [[nodiscard]] size_t operator()(std::string_view bytes) const noexcept {
    return static_cast<size_t>(seeded_hash64(bytes));
  }
  [[nodiscard]] size_t operator()(uint64_t value) const noexcept {
    return static_cast<size_t>(seeded_hash64(value));
  }
};

}  // namespace scrubjay::base
