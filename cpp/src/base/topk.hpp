// Bounded top-k: the best k of many scored documents, under one total order.
//
// A candidate is one 64-bit key: the score in the upper half (as an unsigned number that grows with it),
// the complement of the document in the lower half. A greater key is a better candidate: higher score,
// then lower document. For small k, a heap whose least key is the threshold, which is always tight. For
// large k, candidates are appended to a buffer; once it holds more than 2k of them they are counted in a
// histogram of their scores, and the threshold is the lower edge of the best bins that hold k candidates,
// tight to one bin. Keys are not moved until the end (or until the buffer is many times k, when
// std::nth_element trims it).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/key_sorter.hpp"

namespace scrubjay::base {

[[nodiscard]] constexpr uint64_t candidate_key(uint32_t score, uint32_t doc) noexcept {
  return (static_cast<uint64_t>(score) << 32) | static_cast<uint32_t>(~doc);
}
[[nodiscard]] constexpr uint32_t key_score(uint64_t key) noexcept { return static_cast<uint32_t>(key >> 32); }
[[nodiscard]] constexpr uint32_t key_doc(uint64_t key) noexcept { return ~static_cast<uint32_t>(key); }

// Maps floats to unsigned integers of the same order (negative zero equals zero). No NaN.
[[nodiscard]] inline uint32_t sortable_float(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return bits ^ ((0u - (bits >> 31)) | 0x80000000u);  // without a branch, which would be mispredicted
}
[[nodiscard]] inline float unsortable_float(uint32_t sortable) noexcept {
  return std::bit_cast<float>(sortable & 0x80000000u ? sortable & 0x7fffffffu : ~sortable);
}

class TopK {
 public:
  // Removes all candidates but keeps the memory. k >= 1. Scores are expected, but not required, to be within
  // [least, greatest]: the threshold is tight to about a thousandth of that range.
  void reset(size_t k, uint32_t least = 0, uint32_t greatest = 0xffffffffu) {
    k_ = k;
    threshold_ = 0;
    finished_ = false;
    keys_.clear();
    if (k <= kHeapK) {
      keys_.reserve(k);
      return;
    }
    keys_.reserve(std::min<size_t>(2 * k, 4096));
    limit_ = std::max<size_t>(8 * k, 4096);
    least_ = least;
    const unsigned width = static_cast<unsigned>(std::bit_width(greatest - least));
    shift_ = width > kBinBits ? width - kBinBits : 0;
    counting_ = false;
  }

  [[nodiscard]] size_t k() const noexcept { return k_; }

  // A candidate whose key does not exceed this cannot be among the best k. Never decreases.
  [[nodiscard]] uint64_t threshold() const noexcept { return threshold_; }

  // Tells the collector that k candidates, pushed already or still to be pushed, have at least this score.
  void raise_threshold(uint32_t score) noexcept {
    if (score == 0) return;
    threshold_ = std::max(threshold_, (static_cast<uint64_t>(score) << 32) - 1);
  }

  void push(uint64_t key) {
    if (key <= threshold_) return;
    if (k_ > kHeapK) {
      keys_.push_back(key);
      if (counting_) {
        count(key);
        if (keys_.size() >= limit_) trim();
      } else if (keys_.size() > 2 * k_ + kFew) {
        start_counting();
      }
    } else if (keys_.size() < k_) {
      keys_.push_back(key);
      std::push_heap(keys_.begin(), keys_.end(), std::greater<>());
      if (keys_.size() == k_) threshold_ = std::max(threshold_, keys_.front());
    } else {
      replace_least(key);
    }
  }

  // Equivalent to push(key_of(i)) for each i < n.
  template <class KeyOf>
  void push_all(size_t n, KeyOf&& key_of) {
    if (k_ <= kHeapK || counting_ || keys_.size() + n > 2 * k_ + kFew) {
      for (size_t i = 0; i < n; ++i) push(key_of(i));
      return;
    }
    size_t n_kept = keys_.size();  // too few to count: avoid a branch per key
    keys_.resize(n_kept + n);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t key = key_of(i);
      keys_[n_kept] = key;
      n_kept += key > threshold_ ? 1 : 0;
    }
    keys_.resize(n_kept);
  }

  // Sets the best k, computed elsewhere, best first: after a reset and instead of every push.
  void assign(std::span<const uint64_t> keys) {
    keys_.assign(keys.begin(), keys.end());
    finished_ = true;
  }

  // Returns the best k, best first. The reference is valid until the next reset, and push() is not allowed
  // before that. `count` as in KeySorter::sort.
  [[nodiscard]] const std::vector<uint64_t>& finish(CountGreater count = count_greater) {
    if (finished_) return keys_;
    finished_ = true;
    if (k_ > kHeapK) {  // avoid a branch per key
      size_t n_kept = 0;
      for (size_t i = 0; i < keys_.size(); ++i) {
        const uint64_t key = keys_[i];
        keys_[n_kept] = key;
        n_kept += key >= threshold_ ? 1 : 0;
      }
      keys_.resize(n_kept);
    }
    sorter_.sort(keys_, count);
    if (keys_.size() > k_) keys_.resize(k_);
    return keys_;
  }

 private:
  static constexpr size_t kHeapK = 32;
  static constexpr size_t kFew = 64;  // too few to be worth counting
  static constexpr unsigned kBinBits = 10;

  [[nodiscard]] uint32_t bin_of(uint64_t key) const noexcept {
    const uint32_t score = key_score(key);
    const uint32_t above = score > least_ ? score - least_ : 0;
    return std::min(above >> shift_, (1u << kBinBits) - 1);
  }

  void start_counting() {
    histogram_.assign(size_t{1} << kBinBits, 0);
    threshold_bin_ = threshold_ == 0 ? 0 : bin_of(threshold_ + 1);  // lower keys are refused from now on
    n_at_threshold_ = 0;
    counting_ = true;
    for (const uint64_t key : keys_) {
      if (bin_of(key) >= threshold_bin_) count(key);
    }
  }

  // Counts a key of the buffer; raises the threshold to the greatest bin edge that k keys reach.
  void count(uint64_t key) noexcept {
    ++histogram_[bin_of(key)];
    ++n_at_threshold_;  // keys from threshold_bin_ on; lower keys are refused
    while (n_at_threshold_ - histogram_[threshold_bin_] >= k_) {
      n_at_threshold_ -= histogram_[threshold_bin_++];
      threshold_ =
          std::max(threshold_, ((uint64_t{least_} + (uint64_t{threshold_bin_} << shift_)) << 32) - 1);
    }
  }

  // Sifts the key down from the root until both children are greater.
  void replace_least(uint64_t key) noexcept {
    size_t hole = 0;
    for (size_t child = 1; child < k_; child = 2 * hole + 1) {
      if (child + 1 < k_ && keys_[child + 1] < keys_[child]) ++child;
      if (keys_[child] >= key) break;
      keys_[hole] = keys_[child];
      hole = child;
    }
    keys_[hole] = key;
    threshold_ = std::max(threshold_, keys_.front());
  }

  // Keeps the best k (any order) and raises the threshold to the worst of them.
  void trim() {
    std::nth_element(keys_.begin(), keys_.begin() + static_cast<ptrdiff_t>(k_ - 1), keys_.end(),
                     std::greater<>());
    keys_.resize(k_);
    threshold_ = std::max(threshold_, keys_.back());
    limit_ = std::max(limit_, 2 * k_);
  }

  size_t k_ = 1;
  uint64_t threshold_ = 0;
  std::vector<uint64_t> keys_;
  size_t limit_ = 0;
  uint32_t least_ = 0;
  unsigned shift_ = 0;
  std::vector<uint32_t> histogram_;
  uint32_t threshold_bin_ = 0;
  uint64_t n_at_threshold_ = 0;
  bool counting_ = false;
  bool finished_ = false;
  KeySorter sorter_;
};

}  // namespace scrubjay::base
