// Diversity: which k of these documents are relevant and do not repeat each other?
//
// Maximal marginal relevance (Carbonell and Goldstein 1998): take, one after the other, the document with the
// greatest
//     lambda relevance - (1 - lambda) max(0, greatest similarity to one that was taken)
// As if every value were computed anew at each step. A value only falls as documents are taken, so what was
// computed earlier is a bound, and only the document on top of a heap of bounds is brought up to date: few of
// the k n similarities are ever computed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scrubjay::fusion {

// Reuse one per thread to avoid allocation.
class Diversity {
 public:
  // The first `n_first` are taken before all others, in their order. `similarity(i, j)`: of documents i and
  // j; `before(i, j)`: which of two equal values comes first, a total order; `soon(i)` is told of documents
  // that are about to be compared for the first time. Places in `relevance`, in the order in which they are
  // taken; valid until the next call.
  template <class Similarity, class Before, class Soon>
  [[nodiscard]] std::span<const uint32_t> select(std::span<const double> relevance, double lambda, size_t k,
                                                 size_t n_first, Similarity&& similarity, Before&& before,
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
      std::pop_heap(heap_.begin(), heap_.end(), worse);
      Bound& best = heap_.back();
      if (heap_.size() > 1 && heap_.front().n_compared == 0) soon(heap_.front().place);
      if (best.n_compared == taken_.size()) {
        taken_.push_back(best.place);
        heap_.pop_back();
        continue;
      }
      for (; best.n_compared < taken_.size(); ++best.n_compared)
        best.nearest = std::max(best.nearest, similarity(best.place, taken_[best.n_compared]));
      best.value = lambda * relevance[best.place] - (1.0 - lambda) * best.nearest;
      std::push_heap(heap_.begin(), heap_.end(), worse);
    }
    return taken_;
  }

 private:
  struct Bound {
    double value;    // as of the first n_compared that were taken
    double nearest;  // the greatest similarity to one of them, at least 0
    uint32_t place;
    uint32_t n_compared;
  };

  std::vector<Bound> heap_;
  std::vector<uint32_t> taken_;
};

}  // namespace scrubjay::fusion
