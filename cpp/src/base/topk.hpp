// Bounded top-k: which k of many scored documents are best, under one total order?
//
// A candidate is one 64-bit key: the score in the upper half (as an unsigned number that grows with it), the complement
// of the document in the lower. A greater key is a better candidate: higher score, then lower document. Candidates above
// the current threshold are appended to a buffer of 2k, which std::nth_element trims to k when it is full: about four
// times cheaper than a heap, because most candidates that pass never move again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace scrubjay::base {

[[nodiscard]] constexpr uint64_t candidate_key(uint32_t score, uint32_t doc) noexcept {
  return (static_cast<uint64_t>(score) << 32) | static_cast<uint32_t>(~doc);
}
[[nodiscard]] constexpr uint32_t key_score(uint64_t key) noexcept { return static_cast<uint32_t>(key >> 32); }
[[nodiscard]] constexpr uint32_t key_doc(uint64_t key) noexcept { return ~static_cast<uint32_t>(key); }

// Floats as unsigned integers of the same order (negative zero counts as zero). No NaN.
[[nodiscard]] inline uint32_t sortable_float(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
[[nodiscard]] inline float unsortable_float(uint32_t sortable) noexcept {
  return std::bit_cast<float>(sortable & 0x80000000u ? sortable & 0x7fffffffu : ~sortable);
}

class TopK {
 public:
  // Forgets all candidates; keeps the memory. k >= 1.
  void reset(size_t k) {
    k_ = k;
    threshold_ = 0;
    keys_.clear();
    keys_.reserve(std::min<size_t>(2 * k, 4096));
  }

  // A candidate whose key does not exceed this cannot be among the best k. Never falls; zero until k were seen and the
  // buffer was trimmed once.
  [[nodiscard]] uint64_t threshold() const noexcept { return threshold_; }

  void push(uint64_t key) {
    if (key <= threshold_) return;
    keys_.push_back(key);
    if (keys_.size() >= 2 * k_) trim();
  }

  [[nodiscard]] size_t k() const noexcept { return k_; }

  // Trims if that promises a higher threshold: when there is none yet, or the buffer has grown by a quarter.
  void tighten() {
    if (keys_.size() >= k_ + (threshold_ == 0 ? 0 : k_ / 4 + 1)) trim();
  }

  // Keeps the best k (any order) and raises the threshold to the worst of them.
  void trim() {
    if (keys_.size() < k_) return;
    std::nth_element(keys_.begin(), keys_.begin() + static_cast<ptrdiff_t>(k_ - 1), keys_.end(), std::greater<>());
    keys_.resize(k_);
    threshold_ = keys_.back();
  }

  // The best k, best first. The reference stays valid until the next reset or push.
  [[nodiscard]] const std::vector<uint64_t>& finish() {
    if (keys_.size() > k_) trim();
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    return keys_;
  }

 private:
  size_t k_ = 1;
  uint64_t threshold_ = 0;
  std::vector<uint64_t> keys_;
};

}  // namespace scrubjay::base
