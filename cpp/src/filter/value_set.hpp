// Value set: the numbers of an $in, looked up for every document.
//
// A table with a power of two slots, at most a quarter full, whose empty slots hold a number that is not in
// the set. Hashed with the process's seed, since callers choose the numbers; built for each evaluation, which
// for 500 values takes 2 us. A lookup takes about 2 ns, a binary search in the sorted values 40; columns with
// digests use a table of digests first (Digests::match_set()).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/seeded_hash.hpp"
#include "filter/range.hpp"

namespace scrubjay::filter {

class ValueSet {
 public:
  // Replaces the content by the values of `ranges`, each of which holds at most one value. Returns false if a
  // range holds more; the set must not be used then.
  [[nodiscard]] bool assign(const std::vector<Range>& ranges) {
    for (const Range& range : ranges)
      if (range.least < range.greatest) return false;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(std::bit_ceil(4 * ranges.size())));
    empty_ = absent_from(ranges);
    slots_.assign(size_t{1} << (64 - shift_), empty_);
    values_.clear();
    for (const Range& range : ranges) {
      if (range.least > range.greatest) continue;
      size_t slot = home(range.least);
      while (slots_[slot] != empty_ && slots_[slot] != range.least) slot = next(slot);
      if (slots_[slot] == empty_) values_.push_back(range.least);
      slots_[slot] = range.least;
    }
    return true;
  }

  // Its distinct values, in no order.
  [[nodiscard]] const std::vector<int64_t>& values() const noexcept { return values_; }

  [[nodiscard]] bool holds(int64_t value) const noexcept {
    size_t slot = home(value);
    int64_t found = slots_[slot];
    while (found != value && found != empty_) found = slots_[slot = next(slot)];
    return (found == value) & (value != empty_);
  }

 private:
  // Of n + 1 candidates, at least one is not among n values.
  [[nodiscard]] static int64_t absent_from(const std::vector<Range>& ranges) {
    std::vector<bool> taken(ranges.size() + 1);
    for (const Range& range : ranges)
      if (range.least >= 0 && static_cast<uint64_t>(range.least) < taken.size())
        taken[static_cast<size_t>(range.least)] = true;
    size_t absent = 0;
    while (taken[absent]) ++absent;
    return static_cast<int64_t>(absent);
  }
  [[nodiscard]] size_t home(int64_t value) const noexcept {
    return static_cast<size_t>(base::seeded_hash64(static_cast<uint64_t>(value)) >> shift_);
  }
  [[nodiscard]] size_t next(size_t slot) const noexcept { return (slot + 1) & (slots_.size() - 1); }

  std::vector<int64_t> slots_, values_;
  unsigned shift_ = 63;
  int64_t empty_ = 0;
};

}  // namespace scrubjay::filter
