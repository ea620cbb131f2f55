// Selection: the best k candidates of one search, and the score that the next one must exceed.
//
// Candidates come window by window, and a window's documents lie behind those of the windows before, so a
// document must exceed the k-th best score so far to be one of the best k. As if every candidate were pushed
// to a base::TopK, but a window's candidates are written where they stay (positions and scores side by side,
// as the kernels have them), and the k-th best is found by counting: a bisection over the scores, a vector at
// a time, which for a few hundred candidates takes a tenth of a heap's or a selection's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/key_sorter.hpp"
#include "base/topk.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::lexical {

class Selection {
 public:
  explicit Selection(const simd::Kernels& kernels) noexcept : kernels_(kernels) {}

  // Forgets all candidates; keeps the memory. k >= 1.
  void reset(size_t k) noexcept {
    k_ = k;
    n_ = 0;
    threshold_ = 0;
    tight_ = false;
  }

  [[nodiscard]] size_t k() const noexcept { return k_; }
  // A document that is not yet a candidate is among the best k only if its score exceeds this. Never falls.
  [[nodiscard]] uint32_t threshold() const noexcept { return threshold_; }
  // The caller knows k documents, all yet to come or candidates already, with at least this score.
  void raise_threshold(uint32_t score) noexcept {
    if (score > threshold_ + 1) threshold_ = score - 1;
  }

  // Where the next candidates go: at least `n` of them and what a kernel may write beyond.
  void make_room(size_t n);
  [[nodiscard]] uint32_t* positions() noexcept { return docs_.get() + n_; }
  [[nodiscard]] uint32_t* scores() noexcept { return scores_.get() + n_; }
  // The first `n` there are candidates: documents first_doc + position, in any order, each behind all that
  // were added before, scores above the threshold.
  void add(size_t n, uint32_t first_doc);

  // Hands the best k to `best`, which was reset to k and holds nothing.
  void finish(base::TopK& best);

 private:
  void tighten();
  void drop_last_of(uint32_t score, size_t surplus);

  const simd::Kernels& kernels_;
  size_t k_ = 1;
  size_t n_ = 0;
  uint32_t threshold_ = 0;
  bool tight_ = false;  // the threshold is the k-th best score, and n_ == k_
  size_t capacity_ = 0;
  std::unique_ptr<uint32_t[]> docs_, scores_;
  std::vector<uint32_t> equal_;
  std::vector<uint64_t> keys_;
  base::KeySorter sorter_;
};

}  // namespace scrubjay::lexical
