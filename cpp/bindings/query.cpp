#include "query.hpp"

#include <tuple>

#include "classes.hpp"
#include "convert.hpp"
#include "filter.hpp"
#include "gil.hpp"
#include "instances.hpp"
#include "sequences.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

constexpr std::pair<const char*, engine::LinkDirection> kDirections[] = {
    {"out", engine::LinkDirection::out},
    {"in", engine::LinkDirection::in},
    {"both", engine::LinkDirection::both},
};

double to_recall(const py::object& recall) {
  if (PyUnicode_Check(recall.ptr())) {
    if (PyUnicode_CompareWithASCIIString(recall.ptr(), "exact") == 0) return 1.0;
  } else if (PyNumber_Check(recall.ptr()) && !PyBool_Check(recall.ptr())) {  // including NumPy's scalars
    const double share = PyFloat_AsDouble(recall.ptr());
    if (share > 0.0 && share <= 1.0) return share;
    PyErr_Clear();
  }
  throw py::value_error("recall: expected a number in (0, 1] or 'exact', got " + quoted(recall));
}

void read_mode(const py::object& mode, CompiledQuery& query) {
  py::object keep;
  const std::string_view name = PyUnicode_Check(mode.ptr()) ? to_text(mode, "mode", keep) : "";
  query.lexical = name == "hybrid" || name == "lexical" || name == "keyword";
  query.semantic = name == "hybrid" || name == "vector" || name == "semantic";
  if (!query.lexical && !query.semantic) {
    throw py::value_error(
        "mode: expected 'hybrid', 'lexical' (or 'keyword') or 'vector' (or 'semantic'), got " + quoted(mode));
  }
}

void read_candidates(const py::object& candidates, CompiledQuery& query) {
  if (candidates.is_none()) return;
  if (!PyTuple_Check(candidates.ptr()) && !PyList_Check(candidates.ptr())) {
    query.lexical_candidates = query.vector_candidates = to_count(candidates, "candidates", 1);
    return;
  }
  const py::tuple pair = items_of(candidates, "candidates");
  if (pair.size() != 2)
    throw py::value_error("candidates: expected a number or (lexical, vector), got " + quoted(candidates));
  query.lexical_candidates = to_count(pair[0], "candidates[0]", 1);
  query.vector_candidates = to_count(pair[1], "candidates[1]", 1);
}

// `links` has been checked by scrubjay.Links.
void read_links(const py::object& links, CompiledQuery& query) {
  const auto [centres, hops, direction, mentions, field] =
      links.cast<std::tuple<py::object, uint32_t, std::string, bool, std::string>>();
  engine::LinkRequest& request = query.links.emplace();
  query.centres = items_of(centres, "links.centres");
  request.centres = to_keys(query.centres, "links.centres");
  request.hops = hops;
  request.direction = one_of(kDirections, direction, "links.direction");
  request.mentions = mentions;
  request.field = field;
}

std::unique_ptr<CompiledQuery> make_query(const py::object& ranking, const py::object& mode,
                                          const py::object& candidates, const py::object& recall,
                                          const py::object& keywords, const py::object& ids,
                                          const py::object& exclude, const py::object& rankings,
                                          const py::object& entities, const py::object& links, bool spread) {
  auto query = std::make_unique<CompiledQuery>(ids, exclude);
  query->ranking = to_ranking(ranking);
  query->spread = spread;
  read_mode(mode, *query);
  read_candidates(candidates, *query);
  if (!recall.is_none()) query->recall = to_recall(recall);
  if (!keywords.is_none()) {
    py::object keep;
    query->keywords = to_text(keywords, "keywords", keep);
  }
  if (!rankings.is_none()) {
    const py::tuple lists = items_of(rankings, "rankings");
    for (size_t i = 0; i < lists.size(); ++i) {
      query->ranked.push_back(items_of(lists[i], at("rankings", i).c_str()));
      query->rankings.push_back(to_keys(query->ranked.back(), at("rankings", i).c_str()));
    }
  }
  query->entities = to_entities(entities, *query->ranking, "entities");
  if (!links.is_none()) read_links(links, *query);
  return query;
}

}  // namespace

void CompiledQuery::apply(engine::SearchRequest& request) const {
  request.lexical = lexical;
  request.semantic = semantic;
  request.lexical_candidates = lexical_candidates;
  request.vector_candidates = vector_candidates;
  request.recall = recall;
  request.spread = spread;
  request.ranking = ranking.get();
  request.filter.only = ids.view();
  request.filter.without = exclude.view();
  request.rankings = rankings;
  request.entities = entities;
  request.links = links ? &*links : nullptr;
  if (keywords) {
    if (request.embedder && request.vector.empty())
      throw py::value_error("vector: expected a vector with keywords and an embedder, got None");
    request.text = *keywords;
  }
}

QueryArgument::QueryArgument(const py::object& query) {
  if (query.is_none()) return;
  // The usual case first: pybind11's lookup of types costs a tenth of a short search.
  static PyObject* const attribute = PyUnicode_InternFromString("compiled");
  query_ = Instances<CompiledQuery>::behind(query.ptr());
  if (query_) {
    keep_ = query;
    return;
  }
  keep_ =
      py::reinterpret_steal<py::object>(in_python([&] { return PyObject_GetAttr(query.ptr(), attribute); }));
  if (keep_) query_ = Instances<CompiledQuery>::behind(keep_.ptr());
  if (query_) return;
  if (!keep_) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw py::error_already_set();
    PyErr_Clear();
    keep_ = query;
  }
  if (!py::isinstance<CompiledQuery>(keep_)) {
    throw py::type_error("query: expected None or a scrubjay.Query, got " + type_name(query) + " " +
                         quoted(query));
  }
  query_ = &py::cast<const CompiledQuery&>(keep_);  // raises if __init__ never ran
}

std::vector<filter::Predicate> to_entities(const py::object& names, const engine::RankingOptions& ranking,
                                           const std::string& name) {
  std::vector<filter::Predicate> named;
  if (names.is_none() || ranking.entity_weight == 0.0) return named;
  if (PyUnicode_Check(names.ptr()))
    throw py::type_error(name + ": expected a sequence of str, got one str " + quoted(names));
  const py::tuple items = items_of(names, name.c_str());
  for (size_t i = 0; i < items.size(); ++i) {
    py::object keep;
    filter::Test test;
    test.field = ranking.entity_field;
    test.elements = true;
    test.strings.emplace_back(to_text(items[i], at(name.c_str(), i), keep));
    filter::Node node;
    node.kind = filter::Node::Kind::test;
    named.emplace_back(std::vector<filter::Test>{std::move(test)}, std::move(node));
  }
  return named;
}

void register_query(py::module_& module) {
  auto type = export_class<CompiledQuery>(
      module, "CompiledQuery",
      "A scrubjay.Query in the engine's own form. Immutable; a Query makes it once.");
  Instances<CompiledQuery>::remember(type);
  type.def(py::init(&make_query), py::arg("ranking"), py::kw_only(), py::arg("mode") = "hybrid",
           py::arg("candidates") = py::none(), py::arg("recall") = py::none(),
           py::arg("keywords") = py::none(), py::arg("ids") = py::none(), py::arg("exclude") = py::none(),
           py::arg("rankings") = py::none(), py::arg("entities") = py::none(), py::arg("links") = py::none(),
           py::arg("spread") = false,
           "See scrubjay.Query. `spread`: fill Result.similarity_spread. Raises TypeError or ValueError, "
           "naming the argument.");
}

}  // namespace scrubjay::bindings
