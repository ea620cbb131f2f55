// Query: a search's options, except text, scope, k, filter and vector, in the engine's form.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "filter.hpp"
#include "ranking.hpp"

namespace scrubjay::bindings {

// Made once for a scrubjay.Query, and immutable. Owns what its views refer to.
struct CompiledQuery {
  CompiledQuery(const pybind11::object& only, const pybind11::object& without)
      : ids(only, "ids"), exclude(without, "exclude") {}

  bool lexical = true, semantic = true;  // arms that may run
  size_t lexical_candidates = 0, vector_candidates = 0;
  double recall = 0.99;
  RankingPtr ranking;
  bool spread = false;
  std::optional<std::string> keywords;  // instead of the text, for the lexical arm
  NamedDocuments ids, exclude;
  std::vector<std::vector<engine::DocumentKey>> rankings;
  std::vector<pybind11::tuple> ranked;      // owns what the keys of the rankings refer to
  std::vector<filter::Predicate> entities;  // of the given names
  std::optional<engine::LinkRequest> links;
  pybind11::tuple centres;  // owns what the keys of the links refer to

  // Sets the options of a request whose text, vector and scope are the caller's.
  void apply(engine::SearchRequest& request) const;
};

// The query of one search, with a reference to its Python object.
class QueryArgument {
 public:
  // None, a CompiledQuery, or an object whose attribute `compiled` is one. Raises TypeError.
  explicit QueryArgument(const pybind11::object& query);
  // Null: the default query.
  [[nodiscard]] const CompiledQuery* get() const noexcept { return query_; }

 private:
  pybind11::object keep_;
  const CompiledQuery* query_ = nullptr;
};

// One predicate per entity, for documents that name it in the ranking's entity field. None: no entities.
[[nodiscard]] std::vector<filter::Predicate> to_entities(const pybind11::object& names,
                                                         const engine::RankingOptions& ranking,
                                                         const std::string& name);

void register_query(pybind11::module_& module);

}  // namespace scrubjay::bindings
