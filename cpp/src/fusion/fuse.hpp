// Fusion: merges several rankings into one score per document.
//
//   rrf         sum, over the rankings that contain d, of weight / (k + rank), ranks from 1 (Cormack, Clarke,
//               Buettcher 2009), added in the order lexical, vector, caller's.
//   weighted    lexical_weight n(bm25) + vector_weight n(similarity), with n one of
//                 zscore    (x - mean) / deviation of the ranking; the lexical ranking is taken to end in
//                           one zero
//                 minmax    (x - least) / (greatest - least), the least of BM25 being 0
//                 max       x / greatest
//                 logistic  BM25: 1 / (1 + exp(-slope (x - midpoint))) by the query's length;
//                           similarity: clamped to 0..1
//   boost       similarity + boost * n(bm25), for documents whose similarity reaches the gate; n is logistic
//               as above (0 for a BM25 of 0), otherwise x / greatest
//   production  0.4 similarity + 0.6 bm25 / greatest, rejected if both are below the floor. Literally, as it
//               circulates: 0.4/0.6 for documents of both arms, the bare similarity for documents of the
//               vector arm only, 0 for documents of the lexical arm only; rejected below the floor.
//   automatic   share bm25 / d + r(lexical place)
//               + (1 - share) e((similarity - mean) / deviation) + r(vector place) + 30 / (60 + vector place)
//               d: the deviation that BM25 would have in the scope if its terms were independent: the root of
//               the sum of w^2 p (1 - p) over the query's terms, where w is the weight of a term and p the
//               fraction of documents that contain it; at least 0.2. mean, deviation: of the similarities in
//               the scope. Each arm thus counts by how far a document stands out in it: words that most
//               documents contain mean little, and so does nearness if all documents are near.
//               e(z) = z^1.25, or z if negative: far outliers are rarer than in proportion.
//               r(place) = 4 / (2 + place): the first documents of either arm stay among the first even if
//               the other arm does not have them. A place is 1 + the number of documents of the ranking with
//               higher scores; a document that is not in a ranking has no place and r = 0.
//               share = 0.6 - 0.1 agreement, where agreement is the mean, over both arms, of 1/sqrt(rank of
//               the arm's first document in the other arm), 0 if it is not there.
//               Every candidate has the scores of both arms. One without a vector counts as the least similar
//               of the vector ranking.
//               Form and constants by cross-validation: `python -m benchmarks.quality.shares`.
//               What one ranking alone is sure of has a place among the first ten (guarantee.hpp).
//
// In the other methods a document that is not in the lexical ranking has BM25 0 (scores at the cut-off
// are near it); one that is not in the vector ranking counts as that ranking's least. A caller's ranking
// has no scores: it adds weight * 11 / (10 + rank), except in rrf. Double precision, sums in the order
// of the rankings.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/candidates.hpp"
#include "fusion/score_parts.hpp"

namespace scrubjay::fusion {

enum class Method : uint8_t { rrf, weighted, boost, production, automatic };
enum class Normalise : uint8_t { zscore, minmax, max, logistic };

struct Options {
  Method method = Method::automatic;
  Normalise normalise = Normalise::zscore;
  double rrf_k = 60.0;
  double lexical_weight = 1.0;
  double vector_weight = 1.0;
  std::vector<double> ranking_weights;  // of the caller's rankings; 1 for further ones
  double boost = 0.3;
  double gate = 0.0;
  double floor = 0.4;
  bool literal = false;
  bool guarantee = true;  // automatic: places for what one ranking is sure of (guarantee.hpp)
};

// The scale of scores for automatic fusion: their distribution in the scope.
struct Scale {
  static constexpr double kLeastDeviation = 0.2;

  double lexical_deviation = 0.0;
  double mean = 0.0, deviation = 0.0;  // of the similarities
};

// Automatic fusion of single candidates. Increases with both scores, decreases with both places.
class Automatic {
 public:
  static constexpr double kFirst = 4.0, kFirstK = 2.0;  // by the place in either ranking
  static constexpr double kNear = 30.0, kNearK = 60.0;  // additional, by the place in the vector ranking

  Automatic(const Scale& scale, const Candidates& candidates) noexcept;

  [[nodiscard]] double share() const noexcept { return share_; }
  // Part of a document with this BM25 and place in the lexical ranking (0: none).
  [[nodiscard]] double words(double bm25, uint32_t place) const noexcept {
    return share_ * (bm25 / scale_.lexical_deviation) + of_place(kFirst, kFirstK, place);
  }
  // The same for the vector ranking. NaN: counts as the least similar.
  [[nodiscard]] double meaning(double similarity, uint32_t place) const noexcept {
    const double of_rank = of_place(kFirst, kFirstK, place) + of_place(kNear, kNearK, place);
    if (!has_vector_ || !(scale_.deviation > 0.0)) return of_rank;
    const double z = ((std::isnan(similarity) ? least_ : similarity) - scale_.mean) / scale_.deviation;
    return (1.0 - share_) * (z > 0.0 ? z * std::sqrt(std::sqrt(z)) : z) + of_rank;
  }
  [[nodiscard]] double score(const Candidate& candidate) const noexcept {
    return words(candidate.bm25, candidate.lexical_place) +
           meaning(candidate.similarity, candidate.vector_place);
  }
  // Least similarity of the vector ranking.
  [[nodiscard]] double least_similarity() const noexcept { return least_; }

 private:
  [[nodiscard]] static double of_place(double weight, double k, uint32_t place) noexcept {
    return place != 0 ? weight / (k + place) : 0.0;
  }

  Scale scale_;
  double share_, least_ = 0.0;
  bool has_vector_;
};

// Whether a method needs similarities of documents that are not in the vector ranking.
[[nodiscard]] constexpr bool wants_similarities(const Options& options) noexcept {
  return options.method == Method::boost || (options.method == Method::production && !options.literal);
}

// Fills the scores of all candidates, and `refused`. `rankings` are the caller's, each of distinct documents;
// their documents become candidates. `n_terms`: number of distinct query terms, for the logistic function;
// `scale`: for automatic fusion. `parts`, if not null, receives the parts of each candidate's score, in the
// order of the candidates. Returns the lexical share (automatic), otherwise NaN.
double fuse(const Options& options, std::span<const std::vector<uint32_t>> rankings, size_t n_terms,
            const Scale& scale, Candidates& candidates, std::vector<ScoreParts>* parts = nullptr);

// Half the sum of the reciprocal square roots of two ranks from 1, with 0 for "not there": 0 to 1.
[[nodiscard]] double agreement(const Candidates& candidates) noexcept;

// 1 / (1 + exp(-slope (bm25 - midpoint))), with midpoint and slope by the number of distinct query terms.
[[nodiscard]] double logistic(double bm25, size_t n_terms) noexcept;

}  // namespace scrubjay::fusion
