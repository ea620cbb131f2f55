// Probing: where a look-up in an open-addressing table starts, and how far it may go.
//
// The second wall behind the seeded hash. Each table walks from a home of its own and at most most() slots
// far. An insertion that would have to go further rebuilds the table with harder(): another salt, so that
// what met in the old table parts, and twice as far, so that a table ends even if its keys cannot be told
// apart. A look-up stops after most() slots, too. Random keys in a table that is four fifths full stay within
// 1,024 slots but for one table in millions (a run of k slots has a probability below exp(-0.023 k); Knuth
// 1998, 6.4).
//
// Immutable; a table that readers use keeps the one it was built with.
#pragma once

#include <cstdint>

#include "base/seeded_hash.hpp"

namespace scrubjay::base {

class Probing {
 public:
  static constexpr uint32_t kMost = 1024;

  // With a salt that no other table of the process has.
  [[nodiscard]] static Probing fresh() noexcept;
  // The same, and not as far: for tests, whose tables are then rebuilt again and again.
  [[nodiscard]] static Probing at_most(uint32_t most) noexcept { return {fresh().salt_, most}; }
  [[nodiscard]] Probing harder() const noexcept { return {fresh().salt_, farther().most_}; }
  // The same homes; for an insertion that may not fail.
  [[nodiscard]] Probing farther() const noexcept { return {salt_, most_ < kEver / 2 ? 2 * most_ : kEver}; }

  // Where the walk of a seeded hash (or of 32 bits of one) begins, to be cut or scaled to the table's size.
  [[nodiscard]] uint32_t home(uint64_t hash) const noexcept {
    return static_cast<uint32_t>(mix64(hash ^ salt_, process_hash_seed.factors[1]));
  }
  // The same of a key that is no hash, but a number or bytes that a caller chose. The salt changes the
  // factor, too (it stays odd): of keys that differ in their low bits only, as numbers in a row do, many that
  // met under one factor meet again whatever the salt before the product.
  [[nodiscard]] uint32_t home_of_key(uint64_t key) const noexcept {
    return static_cast<uint32_t>(mix64(key ^ salt_, process_hash_seed.factors[0] ^ (salt_ << 1)));
  }
  [[nodiscard]] uint32_t most() const noexcept { return most_; }

 private:
  static constexpr uint32_t kEver = 0xffffffffu;

  Probing(uint64_t salt, uint32_t most) noexcept : salt_(salt), most_(most) {}

  uint64_t salt_;
  uint32_t most_;
};

}  // namespace scrubjay::base
