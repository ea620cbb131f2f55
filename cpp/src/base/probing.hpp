// Probing: the first slot and the maximum length of a probe sequence in an open-addressing table.
//
// The second defence behind the seeded hash. Each table starts its probes at positions of its own and probes
// at most most() slots. An insertion that would have to go further rebuilds the table with harder(): another
// salt, which separates keys that met in the old table, and twice the limit, so that rebuilding terminates
// even if the hashes of keys are equal. A lookup stops after most() slots, too. Random keys in a table that
// is four fifths full stay within 1,024 slots except for one table in millions (a run of k slots has a
// probability below exp(-0.023 k); Knuth 1998, 6.4).
//
// Immutable; a table that readers use keeps the Probing that it was built with.
#pragma once

#include <cstdint>

#include "base/seeded_hash.hpp"

namespace scrubjay::base {

class Probing {
 public:
  static constexpr uint32_t kMost = 1024;

  // A new salt that no other table of the process has.
  [[nodiscard]] static Probing fresh() noexcept;
  // The same with a lower limit: for tests, which want frequent rebuilds.
  [[nodiscard]] static Probing at_most(uint32_t most) noexcept { return {fresh().salt_, most}; }
  [[nodiscard]] Probing harder() const noexcept { return {fresh().salt_, farther().most_}; }
  // The same salt with a higher limit; for an insertion that may not fail.
  [[nodiscard]] Probing farther() const noexcept { return {salt_, most_ < kEver / 2 ? 2 * most_ : kEver}; }

  // Start of the probe sequence for a seeded hash (or 32 bits of one), to be masked or scaled to
  // the table's size.
  [[nodiscard]] uint32_t home(uint64_t hash) const noexcept {
    return static_cast<uint32_t>(mix64(hash ^ salt_, process_hash_seed.factors[1]));
  }
  // The same for a key that is not a hash but a number, or bytes, chosen by a caller. The salt also changes
  // the factor (which stays odd): of keys that differ in their low bits only, such as consecutive numbers,
  // many that collide under one factor collide again whatever the salt before the product.
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
