// Selection: the best k candidates of a search, and the score that the next candidate must exceed.
//
// Candidates arrive window by window, and the documents of a window follow those of earlier windows, so a
// document must exceed the k-th best score so far to be among the best k. Same as pushing every candidate to
// a base::TopK, but a window's candidates are written in place (positions and scores side by side, as the
// kernels produce them), and the k-th best is found by counting: a bisection over the scores, a vector at a
// time, which for a few hundred candidates takes a tenth of the time of a heap or nth_element.
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

  // Removes all candidates but keeps the memory. k >= 1.
  void reset(size_t k) noexcept {
    k_ = k;
    n_ = 0;
    threshold_ = 0;
    tight_ = false;
  }

  [[nodiscard]] size_t k() const noexcept { return k_; }
  // A document that is not yet a candidate is among the best k only if its score exceeds
  // this. Never decreases.
  [[nodiscard]] uint32_t threshold() const noexcept { return threshold_; }
  // Tells the selection that k documents, candidates already or still to come, have at least this score.
  void raise_threshold(uint32_t score) noexcept {
    if (score > threshold_ + 1) threshold_ = score - 1;
  }

  // Makes room for the next `n` candidates and for what a kernel may write beyond them.
  void make_room(size_t n);
  [[nodiscard]] uint32_t* positions() noexcept { return docs_.get() + n_; }
  [[nodiscard]] uint32_t* scores() noexcept { return scores_.get() + n_; }
  // Adds the first `n` of positions() and scores() as candidates: documents first_doc + position, in any
  // order, all after the documents added before, with scores above the threshold.
  void add(size_t n, uint32_t first_doc);

  // Moves the best k to `best`, which was reset to k and is empty.
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
