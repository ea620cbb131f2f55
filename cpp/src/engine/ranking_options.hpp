// Ranking options: how the candidates of both arms are ranked.
//
// Plain data, made once by a caller and shared by any number of searches.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "fusion/fuse.hpp"

namespace scrubjay::engine {

// Strength of the evidence for a hit, in absolute terms.
enum class Relevance : uint8_t { none, low, standard, high };

// A hit reaches a tier of relevance by either kind of evidence.
struct RelevanceBound {
  double similarity;
  double coverage;  // weighted by idf
};

struct RankingOptions {
  fusion::Options fusion;
  // Rank documents that contain a rare identifier of the query verbatim first (identifier_tier.hpp).
  bool identifier_tier = true;
  // Correct words that no visible document contains to known ones at edit distance one (spelling.hpp).
  bool spelling = true;

  // Weights of the signals that are added to the fused score. If any is not 0, the fused score is first
  // scaled to 0..1 over the candidates.
  double coverage_weight = 0.0;
  double recency_weight = 0.0;  // of 2^(-age / half-life), with the age from the field created_at
  double half_life_us = 168.0 * 3600e6;
  int64_t now_us = kNow;
  // Weight of the greatest damping factor among those of the request's entities that the document names in
  // the list `entity_field`: 1 / (1 + 0.001 (n - 1)^2) for an entity that n visible documents name.
  double entity_weight = 0.0;
  std::string entity_field = "entities";
  // Weight of the match with the days that the question names, in standard deviations of the fused scores
  // (date_signal.hpp). Applies if both arms may run.
  double dates_weight = 6.0;
  int64_t dates_now_us = kNow;
  // Weight of the scores of neighbouring turns by another speaker, in both arms (neighbour_signal.hpp).
  double neighbours_weight = 0.2;
  double prior_weight = 0.0;  // of the number in `prior_field`
  std::string prior_field = "importance";
  [[nodiscard]] bool has_signals() const noexcept {
    return coverage_weight != 0.0 || recency_weight != 0.0 || entity_weight != 0.0 || prior_weight != 0.0;
  }
  [[nodiscard]] bool weighs_coverage() const noexcept {
    return coverage_weight != 0.0 || least_relevance != Relevance::none;
  }

  double mmr_lambda = kOff;
  [[nodiscard]] bool diversifies() const noexcept { return mmr_lambda <= 1.0; }

  double min_score = -std::numeric_limits<double>::infinity();
  Relevance least_relevance = Relevance::none;
  std::array<RelevanceBound, 3> relevance = {{{0.3, 0.3}, {0.5, 0.5}, {0.7, 0.7}}};  // low, standard, high

  // Whether the order or the number of hits may differ from that of the scores of the arms or the fusion.
  [[nodiscard]] bool adjusts() const noexcept {
    return has_signals() || diversifies() || min_score > -std::numeric_limits<double>::infinity() ||
           least_relevance != Relevance::none;
  }

  static constexpr int64_t kNow = std::numeric_limits<int64_t>::min();  // the time of the search
  static constexpr double kOff = std::numeric_limits<double>::infinity();
};

// Throws base::InvalidArgument, naming the option, for a value out of range.
void check(const RankingOptions& options);

// Automatic fusion with the identifier tier.
[[nodiscard]] const RankingOptions& default_ranking();
// Reciprocal rank fusion with k = 60 and nothing else: the default of a request.
[[nodiscard]] const RankingOptions& plain_fusion();

}  // namespace scrubjay::engine
