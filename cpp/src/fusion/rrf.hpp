// Fusion by rank: how do several rankings become one?
//
// Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009): score(d) = sum over the rankings that hold d of
// weight / (k + rank), with ranks from 1. A document in one ranking only stays. Sums are taken in the order
// of the rankings, in double precision; equal scores rank by ascending document.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace scrubjay::fusion {

struct Ranking {
  std::span<const uint32_t> docs;  // distinct, best first
  double weight = 1.0;
};

struct Fused {
  double score;
  uint32_t doc;
};

// Reuse one per thread to avoid allocation.
class RankFusion {
 public:
  // The best k, best first; valid until the next call.
  [[nodiscard]] std::span<const Fused> fuse(std::span<const Ranking> rankings, double rrf_k, size_t k);

 private:
  std::vector<Fused> fused_;
  std::vector<uint32_t> table_;  // open addressing; index + 1 into fused_
};

}  // namespace scrubjay::fusion
