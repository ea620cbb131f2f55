// Digests: a zone map with 16 bits for each value, which range queries read first.
//
// Stores the least and greatest value of each full block of 1,024 values, and for each value 16 bits of its
// difference from the least, without the low bits that do not fit. A block outside the range is skipped, and
// a block within it is taken as a whole; otherwise only values whose digest equals that of an end of the
// range are compared themselves. One writer, any number of readers under an epoch guard.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/growing.hpp"
#include "filter/value_set.hpp"

namespace scrubjay::filter {

class Digests {
 public:
  static constexpr uint32_t kBlock = 1024;
  static constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();  // no value; in no range

  // --- for the writer ----------------------------------------------------------------------------
  // Reserves room for the digests of the first `n` values, without an effect on readers.
  void reserve(uint32_t n);
  // Updates the digests for `n` values, for which room is reserved.
  void follow(const int64_t* values, uint32_t n) noexcept;
  // Reduces the number of values to `n`; no reader has seen the later ones.
  void forget_from(uint32_t n) noexcept {
    if (n / kBlock < n_blocks_.load(std::memory_order_relaxed))
      n_blocks_.store(n / kBlock, std::memory_order_release);
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return blocks_.memory_bytes() + digests_.memory_bytes();
  }

  // --- for readers -------------------------------------------------------------------------------
  // Sets the bits of the values in [least, greatest] among the first `n`, as far as there are digests;
  // returns the number of values covered.
  [[nodiscard]] uint32_t match(const int64_t* values, uint32_t n, int64_t least, int64_t greatest,
                               uint64_t* bits) const;
  // The same for the values in a set. `digest_set` has one bit per digest, all zero before and
  // after the call.
  [[nodiscard]] uint32_t match_set(const int64_t* values, uint32_t n, const ValueSet& set,
                                   uint32_t* digest_set, uint64_t* bits) const;
  static constexpr size_t kDigestSetWords = 65536 / 32;

 private:
  struct Block {
    int64_t least, greatest;  // least > greatest if all are absent
    uint32_t shift;
    bool full;  // no value is absent
  };
  [[nodiscard]] static Block digest(const int64_t* values, uint16_t* digests) noexcept;
  static void match_block(const Block& block, const int64_t* values, const uint16_t* digests, int64_t least,
                          int64_t greatest, uint64_t* bits);

  std::atomic<uint32_t> n_blocks_{0};
  base::GrowingArray<Block> blocks_;
  base::GrowingArray<uint16_t> digests_;
};

}  // namespace scrubjay::filter
