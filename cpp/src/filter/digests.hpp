// Digests: a zone map with 16 bits for each value, which a range query reads first.
//
// Of each full block of 1,024 values its least and greatest are kept, and of each value 16 bits: how far it
// is above the least, without the low bits that do not fit. A block beyond the range is passed over, one
// within it taken whole; in the others only values whose 16 bits equal those of an end of the range are
// compared themselves. One writer, any number of readers under an epoch guard.
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
  static constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();  // no value, in no range

  // --- the writer --------------------------------------------------------------------------------
  // Makes room for those of the first `n` values; readers notice nothing.
  void reserve(uint32_t n);
  // There are `n` values, for which there is room.
  void follow(const int64_t* values, uint32_t n) noexcept;
  // There are `n` values again, those behind them were never read.
  void forget_from(uint32_t n) noexcept {
    if (n / kBlock < n_blocks_.load(std::memory_order_relaxed))
      n_blocks_.store(n / kBlock, std::memory_order_release);
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return blocks_.memory_bytes() + digests_.memory_bytes();
  }

  // --- readers -----------------------------------------------------------------------------------
  // Sets the bits of those of the first `n` values that lie in [least, greatest], as far as there are
  // digests; returns of how many values.
  [[nodiscard]] uint32_t match(const int64_t* values, uint32_t n, int64_t least, int64_t greatest,
                               uint64_t* bits) const;
  // The same for the values that are in a set. `digest_set` has room for a bit of each digest, all zero, and is so again.
  [[nodiscard]] uint32_t match_set(const int64_t* values, uint32_t n, const ValueSet& set,
                                   uint32_t* digest_set, uint64_t* bits) const;
  static constexpr size_t kDigestSetWords = 65536 / 32;

 private:
  struct Block {
    int64_t least, greatest;  // crosswise if all are absent
    uint32_t shift;
    bool full;  // none is absent
  };
  [[nodiscard]] static Block digest(const int64_t* values, uint16_t* digests) noexcept;
  static void match_block(const Block& block, const int64_t* values, const uint16_t* digests, int64_t least,
                          int64_t greatest, uint64_t* bits);

  std::atomic<uint32_t> n_blocks_{0};
  base::GrowingArray<Block> blocks_;
  base::GrowingArray<uint16_t> digests_;
};

}  // namespace scrubjay::filter
