#include "fusion/fuse.hpp"

#include <algorithm>
#include <cmath>

namespace scrubjay::fusion {
namespace {

constexpr double kRankDamping = 10.0;  // for a caller's ranking among scores

// Mean and deviation of a ranking's scores, and the least and greatest score.
struct Spread {
  double mean = 0.0, deviation = 0.0, least = 0.0, greatest = 0.0;

  [[nodiscard]] double zscore(double x) const noexcept {
    return deviation > 0.0 ? (x - mean) / deviation : 0.0;
  }
  [[nodiscard]] double minmax(double x) const noexcept {
    return greatest > least ? (x - least) / (greatest - least) : x >= greatest ? 1.0 : 0.0;
  }
  [[nodiscard]] double share_of_greatest(double x) const noexcept {
    return greatest > 0.0 ? x / greatest : 0.0;
  }
};

// For n scores, best first, followed by `n_zeros` zeros.
template <class Score>
Spread spread_of(size_t n, size_t n_zeros, Score&& score) {
  Spread spread;
  if (n == 0) return spread;
  double sum = 0.0, squares = 0.0;
  for (size_t i = 0; i < n; ++i) sum += score(i);
  spread.mean = sum / static_cast<double>(n + n_zeros);
  for (size_t i = 0; i < n; ++i) squares += (score(i) - spread.mean) * (score(i) - spread.mean);
  for (size_t i = 0; i < n_zeros; ++i) squares += spread.mean * spread.mean;
  spread.deviation = std::sqrt(squares / static_cast<double>(n + n_zeros));
  spread.greatest = score(0);
  spread.least = n_zeros != 0 ? 0.0 : score(n - 1);
  return spread;
}

struct Spreads {
  Spread lexical, vector;

  explicit Spreads(const Candidates& candidates)
      : lexical(spread_of(candidates.lexical().size(), 1,
                          [&](size_t i) { return candidates.lexical()[i].bm25; })),
        vector(spread_of(candidates.by_vector_rank().size(), 0, [&](size_t i) {
          return candidates.all()[candidates.by_vector_rank()[i]].similarity;
        })) {}

  [[nodiscard]] double similarity(const Candidate& candidate) const noexcept {
    return candidate.vector_rank != 0 ? candidate.similarity : vector.least;
  }
};

constexpr double kNothing = -0.0;  // adds nothing, not even to the sign of a zero

// Combines the two parts that a method gives a candidate, words and meaning.
struct Score {
  void operator()(Candidate& candidate, double words, double meaning) const noexcept {
    candidate.score = words + meaning;
  }
};

// The same, and stores the parts.
struct ScoreAndParts {
  const Candidate* first;
  ScoreParts* parts;  // of `first` and the following candidates

  void operator()(Candidate& candidate, double words, double meaning) const noexcept {
    candidate.score = words + meaning;
    ScoreParts& target = parts[&candidate - first];
    target.words = words + 0.0;
    target.meaning = meaning + 0.0;
  }
};

template <class Give>
void fuse_ranks(const Options& options, Candidates& candidates, Give give) {
  const auto part = [&](double weight, uint32_t rank) {
    return rank != 0 ? weight / (options.rrf_k + rank) : 0.0;
  };
  for (Candidate& candidate : candidates.all()) {
    give(candidate, part(options.lexical_weight, candidate.lexical_rank),
         part(options.vector_weight, candidate.vector_rank));
  }
}

template <class Give>
void fuse_zscores(double lexical_weight, double vector_weight, Candidates& candidates, Give give) {
  const Spreads spreads(candidates);
  for (Candidate& candidate : candidates.all()) {
    give(candidate, lexical_weight * spreads.lexical.zscore(candidate.bm25),
         vector_weight * spreads.vector.zscore(spreads.similarity(candidate)));
  }
}

template <class Give>
void fuse_scores(const Options& options, size_t n_terms, Candidates& candidates, Give give) {
  if (options.normalise == Normalise::zscore)
    return fuse_zscores(options.lexical_weight, options.vector_weight, candidates, give);
  const Spreads spreads(candidates);
  const bool has_lexical = !candidates.lexical().empty(), has_vector = !candidates.by_vector_rank().empty();
  for (Candidate& candidate : candidates.all()) {
    double lexical = 0.0, vector = 0.0;
    const double similarity = spreads.similarity(candidate);
    switch (options.normalise) {
      case Normalise::minmax:
        lexical = spreads.lexical.minmax(candidate.bm25);
        vector = candidate.vector_rank != 0 ? spreads.vector.minmax(similarity) : 0.0;
        break;
      case Normalise::max:
        lexical = spreads.lexical.share_of_greatest(candidate.bm25);
        vector = spreads.vector.share_of_greatest(similarity);
        break;
      case Normalise::logistic:
        lexical = logistic(candidate.bm25, n_terms);
        vector = std::clamp(similarity, 0.0, 1.0);
        break;
      case Normalise::zscore:
        break;
    }
    give(candidate, has_lexical ? options.lexical_weight * lexical : 0.0,
         has_vector ? options.vector_weight * vector : 0.0);
  }
}

template <class Give>
void fuse_boosted(const Options& options, size_t n_terms, Candidates& candidates, Give give) {
  const double greatest = candidates.lexical().empty() ? 0.0 : candidates.lexical()[0].bm25;
  const bool gated = !candidates.by_vector_rank().empty();
  const bool by_logistic = options.normalise == Normalise::logistic;
  for (Candidate& candidate : candidates.all()) {
    const bool has_similarity = !std::isnan(candidate.similarity);
    double lexical = 0.0;
    if (greatest > 0.0 && candidate.bm25 > 0.0)
      lexical = by_logistic ? logistic(candidate.bm25, n_terms) : candidate.bm25 / greatest;
    give(candidate, options.boost * lexical, has_similarity ? candidate.similarity : 0.0);
    candidate.refused =
        gated && candidate.identifiers == 0 && !(has_similarity && candidate.similarity >= options.gate);
  }
}

template <class Give>
void fuse_as_production(const Options& options, Candidates& candidates, Give give) {
  const double greatest = candidates.lexical().empty() ? 0.0 : candidates.lexical()[0].bm25;
  for (Candidate& candidate : candidates.all()) {
    const double lexical = greatest > 0.0 ? candidate.bm25 / greatest : 0.0;
    const double similarity = std::isnan(candidate.similarity) ? 0.0 : std::max(candidate.similarity, 0.0);
    if (options.literal && candidate.vector_rank == 0) {
      give(candidate, 0.0, 0.0);
    } else if (options.literal && candidate.lexical_rank == 0) {
      give(candidate, kNothing, similarity);
    } else {
      give(candidate, options.lexical_weight * lexical, options.vector_weight * similarity);
    }
    candidate.refused = options.literal ? candidate.score < options.floor
                                        : similarity < options.floor && lexical < options.floor;
  }
}

// Returns the lexical share.
template <class Give>
double fuse_automatically(const Scale& scale, Candidates& candidates, Give give) {
  const Automatic automatic(scale, candidates);
  for (Candidate& candidate : candidates.all())
    give(candidate, automatic.words(candidate.bm25, candidate.lexical_place),
         automatic.meaning(candidate.similarity, candidate.vector_place));
  return automatic.share();
}

// Returns the lexical share (automatic), otherwise NaN.
template <class Give>
double fuse_arms(const Options& options, size_t n_terms, const Scale& scale, Candidates& candidates,
                 Give give) {
  double share = kNoEvidence;
  switch (options.method) {
    case Method::rrf:
      fuse_ranks(options, candidates, give);
      break;
    case Method::weighted:
      fuse_scores(options, n_terms, candidates, give);
      break;
    case Method::boost:
      fuse_boosted(options, n_terms, candidates, give);
      break;
    case Method::production:
      fuse_as_production(options, candidates, give);
      break;
    case Method::automatic:
      share = fuse_automatically(scale, candidates, give);
      break;
  }
  return share;
}

}  // namespace

double agreement(const Candidates& candidates) noexcept {
  const auto reciprocal = [](uint32_t rank) {
    return rank == 0 ? 0.0 : 1.0 / std::sqrt(static_cast<double>(rank));
  };
  if (candidates.lexical().empty() || candidates.by_vector_rank().empty()) return 0.0;
  return (reciprocal(candidates.lexical()[0].vector_rank) +
          reciprocal(candidates.all()[candidates.by_vector_rank()[0]].lexical_rank)) /
         2.0;
}

Automatic::Automatic(const Scale& scale, const Candidates& candidates) noexcept
    : scale_(scale),
      share_(0.6 - 0.1 * agreement(candidates)),
      has_vector_(!candidates.by_vector_rank().empty()) {
  scale_.lexical_deviation = std::max(scale_.lexical_deviation, Scale::kLeastDeviation);
  if (has_vector_) least_ = candidates.all()[candidates.by_vector_rank().back()].similarity;
}

double logistic(double bm25, size_t n_terms) noexcept {
  const double midpoint = n_terms <= 3    ? 5.0
                          : n_terms <= 6  ? 7.0
                          : n_terms <= 9  ? 9.0
                          : n_terms <= 15 ? 10.0
                                          : 12.0;
  const double slope = n_terms <= 3 ? 0.7 : n_terms <= 6 ? 0.6 : 0.5;
  return 1.0 / (1.0 + std::exp(-slope * (bm25 - midpoint)));
}

double fuse(const Options& options, std::span<const std::vector<uint32_t>> rankings, size_t n_terms,
            const Scale& scale, Candidates& candidates, std::vector<ScoreParts>* parts) {
  // Documents of the caller's rankings only become candidates before scores are computed, so that each method
  // scores them.
  for (const std::vector<uint32_t>& docs : rankings) {
    for (const uint32_t doc : docs) candidates.at(doc);
  }
  const Candidate* const first = candidates.all().data();  // no candidates are added from here on
  double share;
  if (parts) {
    parts->assign(candidates.all().size(), ScoreParts());
    share = fuse_arms(options, n_terms, scale, candidates, ScoreAndParts{first, parts->data()});
  } else {
    share = fuse_arms(options, n_terms, scale, candidates, Score());
  }
  for (size_t r = 0; r < rankings.size(); ++r) {
    const double weight = r < options.ranking_weights.size() ? options.ranking_weights[r] : 1.0;
    for (size_t i = 0; i < rankings[r].size(); ++i) {
      const auto rank = static_cast<double>(i + 1);
      const double part = options.method == Method::rrf
                              ? weight / (options.rrf_k + rank)
                              : weight * (kRankDamping + 1.0) / (kRankDamping + rank);
      Candidate* const candidate = candidates.find(rankings[r][i]);
      candidate->score += part;
      if (parts) (*parts)[static_cast<size_t>(candidate - first)].rankings += part;
    }
  }
  return share;
}

}  // namespace scrubjay::fusion
