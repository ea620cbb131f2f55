#include "engine/ranking_options.hpp"

#include <cmath>
#include <string>

#include "base/errors.hpp"

namespace scrubjay::engine {
namespace {

void expect(bool right, const char* name, const char* expected, double value) {
  if (!right) {
    throw base::InvalidArgument(std::string(name) + ": expected " + expected + ", got " +
                                std::to_string(value));
  }
}
void expect_not_negative(const char* name, double value) {
  expect(value >= 0.0 && std::isfinite(value), name, "a finite number >= 0", value);
}
void expect_finite(const char* name, double value) {
  expect(std::isfinite(value), name, "a finite number", value);
}

}  // namespace

void check(const RankingOptions& options) {
  const fusion::Options& fusion = options.fusion;
  expect_not_negative("rrf_k", fusion.rrf_k);
  expect_not_negative("weights, lexical", fusion.lexical_weight);
  expect_not_negative("weights, vector", fusion.vector_weight);
  for (const double weight : fusion.ranking_weights) expect_not_negative("weights, rankings", weight);
  expect_not_negative("boost", fusion.boost);
  expect_finite("gate", fusion.gate);
  expect_finite("floor", fusion.floor);
  expect_not_negative("coverage", options.coverage_weight);
  expect_not_negative("recency, weight", options.recency_weight);
  expect(options.half_life_us > 0.0 && std::isfinite(options.half_life_us), "recency, half-life",
         "a finite number > 0", options.half_life_us);
  expect_not_negative("entities, weight", options.entity_weight);
  expect_not_negative("dates, weight", options.dates_weight);
  expect_not_negative("neighbours, weight", options.neighbours_weight);
  expect_finite("prior, weight", options.prior_weight);
  if (options.mmr_lambda != RankingOptions::kOff)
    expect(options.mmr_lambda >= 0.0 && options.mmr_lambda <= 1.0, "mmr", "a number from 0 to 1",
           options.mmr_lambda);
  expect(!std::isnan(options.min_score), "min_score", "a number", options.min_score);
  for (const RelevanceBound& bound : options.relevance) {
    expect(!std::isnan(bound.similarity), "relevance, similarity", "a number", bound.similarity);
    expect(!std::isnan(bound.coverage), "relevance, coverage", "a number", bound.coverage);
  }
}

const RankingOptions& default_ranking() {
  static const auto* const options = new RankingOptions;  // never destroyed: threads may outlive statics
  return *options;
}

const RankingOptions& plain_fusion() {
  static const auto* const options = [] {
    auto* plain = new RankingOptions;
    plain->fusion.method = fusion::Method::rrf;
    plain->identifier_tier = false;
    plain->spelling = false;
    plain->dates_weight = 0.0;
    plain->neighbours_weight = 0.0;
    return plain;
  }();
  return *options;
}

}  // namespace scrubjay::engine
