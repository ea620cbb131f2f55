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

// How good the evidence for a hit is, in absolute terms.
enum class Relevance : uint8_t { none, low, standard, high };

// A hit reaches a tier of relevance by either kind of evidence.
struct RelevanceBound {
  double similarity;
  double coverage;  // weighted by idf
};

struct RankingOptions {
  fusion::Options fusion;
  // Documents that hold a rare identifier of the query verbatim come first (identifier_tier.hpp).
  bool identifier_tier = true;
  // Words that no visible document holds are read as known ones at one edit (spelling.hpp).
  bool spelling = true;

  // Added to the fused score, which is scaled to 0..1 over the candidates first if any of them is not 0.
  double coverage_weight = 0.0;
  double recency_weight = 0.0;  // of 2^(-age / half-life), where the field created_at says the age
  double half_life_us = 168.0 * 3600e6;
  int64_t now_us = kNow;
  // Of the best damping among the request's entities that the document names in the list `entity_field`:
  // 1 / (1 + 0.001 (n - 1)^2) for one that n visible documents name.
  double entity_weight = 0.0;
  std::string entity_field = "entities";
  // Of the match of the days that the question names, in standard deviations of the fused scores
  // (date_signal.hpp). Where both arms may run.
  double dates_weight = 6.0;
  int64_t dates_now_us = kNow;
  // Of the scores of the turns beside a turn, said by another speaker, in both arms (neighbour_signal.hpp).
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

  // Whether the order or the number of hits may differ from that of the scores that the arms or the fusion
  // give.
  [[nodiscard]] bool adjusts() const noexcept {
    return has_signals() || diversifies() || min_score > -std::numeric_limits<double>::infinity() ||
           least_relevance != Relevance::none;
  }

  static constexpr int64_t kNow = std::numeric_limits<int64_t>::min();  // the time of the search
  static constexpr double kOff = std::numeric_limits<double>::infinity();
};

// Throws base::InvalidArgument, naming the option, for a number out of its range.
void check(const RankingOptions& options);

// Automatic fusion with the identifier tier.
[[nodiscard]] const RankingOptions& default_ranking();
// Reciprocal rank fusion with k = 60, nothing else: what a request has unless it says otherwise.
[[nodiscard]] const RankingOptions& plain_fusion();

}  // namespace scrubjay::engine
