// Diversity: selects k documents that are relevant and do not repeat each other.
//
// Maximal marginal relevance (Carbonell and Goldstein 1998): repeatedly take the document with the greatest
//
//     lambda relevance - (1 - lambda) max(0, greatest similarity to a document taken before)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scrubjay::fusion {

// Same as recomputing every value at each step. Values only decrease as documents are taken, so an earlier
// value is a bound, and only the document on top of a heap of bounds is recomputed and sifted down: few of
// the k n similarities are ever computed. Reuse one per thread to avoid allocation.
class Diversity {
 public:
  // Takes the first `n_first` documents before all others, in their order. `nearest(i, some)`: the greatest
  // similarity of document i to some taken documents; `before(i, j)`: a total order that breaks ties;
  // `soon(i)`: announces documents that may be compared for the first time soon. Returns indices into
  // `relevance`, in the order in which they are taken; valid until the next call.
  template <class Nearest, class Before, class Soon>
  [[nodiscard]] std::span<const uint32_t> select(std::span<const double> relevance, double lambda, size_t k,
                                                 size_t n_first, Nearest&& nearest, Before&& before,
                                                 Soon&& soon) {
    const auto worse = [&](const Bound& a, const Bound& b) {
      return a.value != b.value ? a.value < b.value : before(b.place, a.place);
    };
    heap_.clear();
    taken_.clear();
    for (size_t i = 0; i < std::min(n_first, k); ++i) taken_.push_back(static_cast<uint32_t>(i));
    for (size_t i = n_first; i < relevance.size(); ++i)
      heap_.push_back({lambda * relevance[i], 0.0, static_cast<uint32_t>(i), 0});
    std::make_heap(heap_.begin(), heap_.end(), worse);
    while (!heap_.empty() && taken_.size() < k) {
      Bound best = heap_.front();
      for (size_t next = 1; next < std::min<size_t>(heap_.size(), 3); ++next)
        if (heap_[next].n_compared == 0) soon(heap_[next].place);
      if (best.n_compared == taken_.size()) {
        taken_.push_back(best.place);
        best = heap_.back();
        heap_.pop_back();
      } else {
        const std::span<const uint32_t> unseen = std::span(taken_).subspan(best.n_compared);
        best.nearest = std::max(best.nearest, nearest(best.place, unseen));
        best.n_compared = static_cast<uint32_t>(taken_.size());
        best.value = lambda * relevance[best.place] - (1.0 - lambda) * best.nearest;
      }
      sink(best, worse);
    }
    return taken_;
  }

 private:
  struct Bound {
    double value;    // with respect to the first n_compared taken documents
    double nearest;  // the greatest similarity to one of them, at least 0
    uint32_t place;
    uint32_t n_compared;
  };

  // Replaces the top of the heap by a bound and sifts it down.
  template <class Worse>
  void sink(const Bound& bound, Worse&& worse) {
    size_t hole = 0;
    for (size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && worse(heap_[child], heap_[child + 1])) ++child;
      if (!worse(bound, heap_[child])) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    if (!heap_.empty()) heap_[hole] = bound;
  }

  std::vector<Bound> heap_;
  std::vector<uint32_t> taken_;
};

}  // namespace scrubjay::fusion
