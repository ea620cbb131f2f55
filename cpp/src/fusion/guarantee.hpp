// Guarantee: places among the first hits of automatic fusion for what one ranking alone is sure of.
//
// Guaranteed are the first document by words and, of the first kMostNear of the vector ranking, those that stand
// out in it: their own similarity is at least kFarOut deviations above the mean of its first kCompared similarities.
// Documents with equal scores are guaranteed together or not at all: a ranking whose first documents are equal
// is not sure of one of them, and which one was written first is no evidence. Documents of the identifier tier
// are first anyway.
//
// Let g be the number of guaranteed documents and t that of the identifier tier. Only kPlaces - g - t other
// documents (0 if negative) may precede a guaranteed one. If the best of the remaining others precedes one, the
// guaranteed documents that do not score more than it get the next greater numbers as scores, the nearest the
// greatest, and equally near ones the same. So scores still descend, and what uses them later (dates,
// signals, thresholds, diversity) needs no rule for guaranteed documents, but may move them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "fusion/candidates.hpp"
#include "fusion/score_parts.hpp"

namespace scrubjay::fusion {

// Usage: find() before scores are complete; keep_far_out() and raise() afterwards, unless is_met(). Known must
// be the scores of the candidates found and of the best max(kPlaces, g + t); candidates without a score are
// refused. raise_above() needs no scores of the candidates found: those without one are raised.
class Guarantee {
 public:
  static constexpr size_t kPlaces = 10;  // the usual number of hits that are read
  // Measured on twenty pairs of set and model (docs/benchmarks.md): two of the nearest leave out answers that
  // their ranking is sure of, a fourth gains less, and documents that stand out less displace more answers.
  static constexpr size_t kMostNear = 3;
  static constexpr double kFarOut = 2.75;
  static constexpr size_t kCompared = 100;  // the usual depth: deeper rankings give the same answer

  void clear() noexcept { n_found_ = n_by_words_ = 0; }
  // Finds the candidates that may be guaranteed: the first by words, and the nearest, far out or not.
  void find(const Candidates& candidates) noexcept;
  // Indices of the candidates found.
  [[nodiscard]] std::span<const uint32_t> found() const noexcept { return {found_.data(), n_found_}; }
  [[nodiscard]] bool contains(uint32_t candidate) const noexcept {
    for (const uint32_t one : found())
      if (one == candidate) return true;
    return false;
  }
  // Whether all candidates found are among the first already.
  [[nodiscard]] bool is_met(std::span<const Candidate> candidates) const noexcept;
  // Drops those of the nearest that are not far out among n similarities. `similarity_at(rank)`: of the vector
  // ranking, from 1; `similarity(index)`: of a candidate. Both are of the documents themselves, without what
  // neighbours add.
  template <class SimilarityAt, class Similarity>
  void keep_far_out(size_t n, SimilarityAt&& similarity_at, Similarity&& similarity) {
    n = n < kCompared ? n : kCompared;
    if (n == 0) return;
    const double least = similarity_at(n);
    double sum = 0.0, squares = 0.0;  // of the distances from the least, in one pass
    for (size_t rank = 1; rank <= n; ++rank) {
      const double above = similarity_at(rank) - least;
      sum += above;
      squares += above * above;
    }
    const double mean = sum / static_cast<double>(n);
    const double variance = squares / static_cast<double>(n) - mean * mean;
    const double bound = variance > 0.0 ? mean + kFarOut * std::sqrt(variance) : kNever;
    size_t n_kept = n_by_words_;
    for (const uint32_t i : found().subspan(n_by_words_))
      if (similarity(i) - least >= bound) found_[n_kept++] = i;
    n_found_ = n_kept;
  }
  // Raises the scores of the candidates found, unless they are among the first. `parts`: those of all candidates,
  // or null.
  void raise(std::span<Candidate> candidates, std::vector<ScoreParts>* parts);
  // The same if the score of the best of the remaining others is known.
  void raise_above(double score, std::span<Candidate> candidates, std::vector<ScoreParts>* parts) noexcept;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void add(std::span<const Candidate> all, uint32_t candidate) noexcept {
    if (all[candidate].identifiers == 0 && !contains(candidate)) found_[n_found_++] = candidate;
  }

  std::array<uint32_t, 1 + kMostNear> found_{};  // the one by words first
  size_t n_found_ = 0, n_by_words_ = 0;
  std::vector<double> others_;  // scores
};

}  // namespace scrubjay::fusion
