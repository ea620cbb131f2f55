#include "ranking.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "classes.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "sequences.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

// A native class of its own, so that `Ranking` is distinguishable by its type alone.
struct CompiledRanking {
  RankingPtr options;
};

constexpr std::pair<const char*, fusion::Method> kMethods[] = {
    {"auto", fusion::Method::automatic},        {"rrf", fusion::Method::rrf},
    {"weighted", fusion::Method::weighted},     {"boost", fusion::Method::boost},
    {"production", fusion::Method::production},
};
constexpr std::pair<const char*, fusion::Normalise> kNormalisers[] = {
    {"zscore", fusion::Normalise::zscore},
    {"minmax", fusion::Normalise::minmax},
    {"max", fusion::Normalise::max},
    {"logistic", fusion::Normalise::logistic},
};
constexpr std::pair<const char*, engine::Relevance> kRelevances[] = {
    {"low", engine::Relevance::low},
    {"standard", engine::Relevance::standard},
    {"high", engine::Relevance::high},
};

CompiledRanking make_ranking(const std::string& method, double rrf_k, std::vector<double> weights,
                             const std::string& normalise, double boost, double gate, double floor,
                             bool literal, bool guarantee, bool identifier_tier, bool spelling,
                             double coverage, double recency, double half_life_us,
                             std::optional<int64_t> now_us, double entities, std::string entity_field,
                             double dates, std::optional<int64_t> dates_now_us, double neighbours,
                             double prior, std::string prior_field, std::optional<double> mmr,
                             std::optional<double> min_score, const std::optional<std::string>& relevance,
                             const std::vector<std::pair<double, double>>& bounds) {
  auto options = std::make_shared<engine::RankingOptions>();
  fusion::Options& fusion = options->fusion;
  fusion.method = one_of(kMethods, method, "method");
  fusion.normalise = one_of(kNormalisers, normalise, "normalise");
  fusion.rrf_k = rrf_k;
  if (weights.size() < 2)
    throw py::value_error("weights: expected (lexical, vector, ...), got " + std::to_string(weights.size()));
  fusion.lexical_weight = weights[0];
  fusion.vector_weight = weights[1];
  fusion.ranking_weights.assign(weights.begin() + 2, weights.end());
  fusion.boost = boost;
  fusion.gate = gate;
  fusion.floor = floor;
  fusion.literal = literal;
  fusion.guarantee = guarantee;
  options->identifier_tier = identifier_tier;
  options->spelling = spelling;
  options->coverage_weight = coverage;
  options->recency_weight = recency;
  options->half_life_us = half_life_us;
  if (now_us) options->now_us = *now_us;
  options->entity_weight = entities;
  options->entity_field = std::move(entity_field);
  options->dates_weight = dates;
  if (dates_now_us) options->dates_now_us = *dates_now_us;
  options->neighbours_weight = neighbours;
  options->prior_weight = prior;
  options->prior_field = std::move(prior_field);
  if (mmr) options->mmr_lambda = *mmr;
  if (min_score) options->min_score = *min_score;
  if (relevance) options->least_relevance = one_of(kRelevances, *relevance, "relevance");
  if (!bounds.empty()) {
    if (bounds.size() != options->relevance.size())
      throw py::value_error("relevance_bounds: expected three pairs, got " + std::to_string(bounds.size()));
    for (size_t i = 0; i < bounds.size(); ++i) options->relevance[i] = {bounds[i].first, bounds[i].second};
  }
  check(*options);
  return {std::move(options)};
}

}  // namespace

RankingPtr to_ranking(const py::object& compiled) {
  if (!py::isinstance<CompiledRanking>(compiled))
    throw py::type_error("ranking: expected a CompiledRanking, got " + type_name(compiled));
  return py::cast<const CompiledRanking&>(compiled).options;
}

void register_ranking(py::module_& module) {
  export_class<CompiledRanking>(
      module, "CompiledRanking",
      "Ranking options in the engine's own form. Immutable; a scrubjay.Query makes it once.")
      .def(
          py::init(&make_ranking), py::arg("method") = "auto", py::kw_only(), py::arg("rrf_k") = 60.0,
          py::arg("weights") = std::vector<double>{1.0, 1.0}, py::arg("normalise") = "zscore",
          py::arg("boost") = 0.3, py::arg("gate") = 0.0, py::arg("floor") = 0.4, py::arg("literal") = false,
          py::arg("guarantee") = true, py::arg("identifier_tier") = true, py::arg("spelling") = true,
          py::arg("coverage") = 0.0, py::arg("recency") = 0.0, py::arg("half_life_us") = 168.0 * 3600e6,
          py::arg("now_us") = py::none(), py::arg("entities") = 0.0, py::arg("entity_field") = "entities",
          py::arg("dates") = 6.0, py::arg("dates_now_us") = py::none(), py::arg("neighbours") = 0.2,
          py::arg("prior") = 0.0, py::arg("prior_field") = "importance", py::arg("mmr") = py::none(),
          py::arg("min_score") = py::none(), py::arg("relevance") = py::none(),
          py::arg("relevance_bounds") = std::vector<std::pair<double, double>>{},
          "See scrubjay.Query and the fusions for the meaning of the numbers. Raises ValueError for a number "
          "out of range.");
}

}  // namespace scrubjay::bindings
