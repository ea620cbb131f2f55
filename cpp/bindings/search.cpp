// Searching: the call that everything else exists for.
#include <pybind11/stl.h>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "embedder.hpp"
#include "engine/engine.hpp"
#include "filter.hpp"
#include "gil.hpp"
#include "instances.hpp"
#include "ranking.hpp"
#include "result.hpp"
#include "sequences.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Engine;

constexpr int kDefaultK = 10;

double to_recall(const py::object& recall) {
  if (PyUnicode_Check(recall.ptr())) {
    if (py::cast<std::string>(recall) == "exact") return 1.0;
  } else if (PyNumber_Check(recall.ptr()) && !PyBool_Check(recall.ptr())) {  // NumPy's scalars too
    const double share = PyFloat_AsDouble(recall.ptr());
    if (share > 0.0 && share <= 1.0) return share;
    PyErr_Clear();
  }
  throw py::value_error("recall: expected a number in (0, 1] or 'exact', got " + quoted(recall));
}

// The options of a search that have nothing to do with its text and vector.
struct Options {
  engine::SearchRequest request;
  RankingChoice ranking;

  Options(const py::object& k, const py::object& mode, const py::object& candidates, const py::object& rrf_k,
          const py::object& weights, const py::object& fusion, bool explain, const py::object& recall)
      : ranking(fusion, rrf_k, weights) {
    request.k = to_count(k, "k", 1);
    py::object keep;
    const std::string_view name = PyUnicode_Check(mode.ptr()) ? to_text(mode, "mode", keep) : "";
    if (name != "hybrid" && name != "lexical" && name != "vector") {
      throw py::value_error("mode: expected 'hybrid', 'lexical' or 'vector', got " + quoted(mode));
    }
    request.lexical = name != "vector";
    request.semantic = name != "lexical";
    if (!candidates.is_none()) request.candidates = to_count(candidates, "candidates", 1);
    request.ranking = ranking.get();
    request.explain = explain;
    if (!recall.is_none()) request.recall = to_recall(recall);
  }
  Options(const Options&) = delete;  // request points into it
  Options& operator=(const Options&) = delete;
};

void check_inputs(const engine::SearchRequest& request) {
  if (!request.text && request.vector.empty())
    throw py::value_error("text, vector: expected at least one of them, got neither");
  if (!request.semantic && !request.text)
    throw py::value_error("text: expected a text in mode 'lexical', got None");
  if (!request.lexical && request.vector.empty() && !(request.embedder && request.text))
    throw py::value_error("vector: expected a vector in mode 'vector', got None");
}

const embed::StaticEmbedder* to_embedder(const py::object& value) {
  if (value.is_none()) return nullptr;
  if (!py::isinstance<StaticEmbedder>(value))
    throw py::type_error("embedder: expected a StaticEmbedder or None, got " + type_name(value));
  return &py::cast<const StaticEmbedder&>(value).core;
}

// Who has an entity in the ranking's entity field, for each of the names. None: there are none.
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

Result search(const Engine& engine, const py::object& text, const py::object& vector, const py::object& scope,
              const py::object& k, const py::object& mode, const py::object& candidates,
              const py::object& rrf_k, const py::object& weights, const py::object& rankings,
              const py::object& fusion, bool explain, const py::object& recall, const py::object& embedder,
              const py::object& filter, const py::object& ids, const py::object& exclude_ids,
              const py::object& entities) {
  Options options(k, mode, candidates, rrf_k, weights, fusion, explain, recall);
  engine::SearchRequest& request = options.request;
  request.embedder = to_embedder(embedder);
  py::object keep_text;
  FloatArray floats;
  request.scope = &as_scope(scope, "scope");  // the caller's argument keeps it
  if (!text.is_none()) request.text = to_text(text, "text", keep_text);
  if (!vector.is_none()) {
    floats = to_vector(vector, "vector");
    request.vector = as_span(floats);
  }
  check_inputs(request);
  const FilterArguments admitted(filter, ids, exclude_ids);
  request.filter = admitted.view();
  const std::vector<filter::Predicate> named = to_entities(entities, *request.ranking, "entities");
  request.entities = named;
  std::vector<py::tuple> keep_rankings;
  std::vector<std::vector<engine::Id>> extra;
  if (!rankings.is_none()) {
    const py::tuple lists = items_of(rankings, "rankings");
    for (size_t i = 0; i < lists.size(); ++i) {
      keep_rankings.push_back(items_of(lists[i], at("rankings", i).c_str()));
      extra.push_back(to_ids(keep_rankings.back(), at("rankings", i).c_str()));
    }
    request.rankings = extra;
  }
  const WithoutGil without_gil;
  return {engine.search(request), engine.id_kind()};
}

std::vector<Result> search_batch(const Engine& engine, const py::object& texts, const py::object& vectors,
                                 const py::object& scope, const py::object& k, const py::object& mode,
                                 const py::object& candidates, const py::object& rrf_k,
                                 const py::object& weights, const py::object& fusion, bool explain,
                                 const py::object& recall, const py::object& threads,
                                 const py::object& embedder, const py::object& filter, const py::object& ids,
                                 const py::object& exclude_ids, const py::object& entities) {
  Options options(k, mode, candidates, rrf_k, weights, fusion, explain, recall);
  options.request.embedder = to_embedder(embedder);
  const FilterArguments admitted(filter, ids, exclude_ids);
  options.request.filter = admitted.view();
  if (texts.is_none() && vectors.is_none())
    throw py::value_error("texts, vectors: expected at least one of them, got neither");
  py::tuple text_items;
  if (!texts.is_none()) text_items = items_of(texts, "texts");
  const size_t n = texts.is_none() ? py::len(vectors) : text_items.size();
  const Vectors rows(vectors, "vectors", n);
  const std::vector<ScopePtr> scopes = to_scopes(scope, n);
  const size_t n_threads = threads.is_none() ? 0 : to_count(threads, "threads", 1);
  std::vector<py::object> keep(n);
  std::vector<engine::SearchRequest> requests(n, options.request);
  py::tuple entity_items;
  if (!entities.is_none()) entity_items = items_of(entities, "entities");
  if (!entities.is_none() && entity_items.size() != n)
    throw py::value_error("entities: expected " + std::to_string(n) + " sequences, one a search, got " +
                          std::to_string(entity_items.size()));
  std::vector<std::vector<filter::Predicate>> named(n);
  for (size_t i = 0; i < n; ++i) {
    if (!texts.is_none() && !text_items[i].is_none())
      requests[i].text = to_text(text_items[i], at("texts", i), keep[i]);
    requests[i].vector = rows.row(i);
    requests[i].scope = scopes[i].get();
    if (!entities.is_none()) named[i] = to_entities(entity_items[i], *requests[i].ranking, at("entities", i));
    requests[i].entities = named[i];
    check_inputs(requests[i]);
  }
  std::vector<engine::SearchResult> found;
  {
    const WithoutGil without_gil;
    found = engine.search_batch(requests, static_cast<unsigned>(std::min<size_t>(n_threads, 1024)));
  }
  std::vector<Result> results;
  results.reserve(n);
  for (engine::SearchResult& result : found) results.push_back({std::move(result), engine.id_kind()});
  return results;
}

// --- the fast way in -----------------------------------------------------------------------------
// pybind11 builds a dict of the keyword arguments and probes it once per parameter, half a microsecond a
// call. This entry compares interned names instead. Whatever is unusual, and every error, goes through
// pybind11's entry, which stands behind it with the same signature and the same documentation.

enum Parameter {
  kText,
  kVector,
  kScope,
  kK,
  kMode,
  kCandidates,
  kRrfK,
  kWeights,
  kRankings,
  kFusion,
  kExplain,
  kRecall,
  kEmbedder,
  kFilter,
  kIds,
  kExcludeIds,
  kEntities,
  kNParameters
};
constexpr const char* kNames[kNParameters] = {
    "text",   "vector",  "scope",  "k",        "mode",   "candidates", "rrf_k",       "weights", "rankings",
    "fusion", "explain", "recall", "embedder", "filter", "ids",        "exclude_ids", "entities"};

struct FastSearch {
  PyObject* names[kNParameters];
  PyObject* hybrid;  // the mode unless given
  PyObject* slow;    // pybind11's entry
  std::string documentation;
  PyMethodDef definition;
};
FastSearch* fast_search_state = nullptr;  // lives as long as the process

PyObject* search_slowly(PyObject* self, PyObject* const* arguments, Py_ssize_t n_positional,
                        PyObject* keywords) {
  std::vector<PyObject*> all{self};
  const Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  all.insert(all.end(), arguments, arguments + n_positional + n_keywords);
  return PyObject_Vectorcall(fast_search_state->slow, all.data(), static_cast<size_t>(n_positional + 1),
                             keywords);
}

PyObject* search_fast(PyObject* self, PyObject* const* arguments, Py_ssize_t n_positional,
                      PyObject* keywords) {
  try {
    if (n_positional > 1) return search_slowly(self, arguments, n_positional, keywords);
    PyObject* given[kNParameters] = {};
    if (n_positional == 1) given[kText] = arguments[0];
    const Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; ++i) {
      PyObject* name = PyTuple_GET_ITEM(keywords, i);
      int parameter = 0;
      while (parameter < kNParameters && fast_search_state->names[parameter] != name) ++parameter;
      if (parameter == kNParameters || given[parameter])
        return search_slowly(self, arguments, n_positional, keywords);
      given[parameter] = arguments[n_positional + i];
    }
    if (!given[kScope] || (given[kExplain] && !PyBool_Check(given[kExplain])))
      return search_slowly(self, arguments, n_positional, keywords);
    py::object objects[kNParameters];
    for (int i = 0; i < kNParameters; ++i)
      if (given[i]) objects[i] = py::reinterpret_borrow<py::object>(given[i]);
    const py::object none = py::none();
    const auto object = [&](Parameter parameter) -> const py::object& {
      return given[parameter] ? objects[parameter] : none;
    };
    if (!given[kK]) objects[kK] = py::int_(kDefaultK);
    if (!given[kMode]) objects[kMode] = py::reinterpret_borrow<py::object>(fast_search_state->hybrid);
    const Engine* engine = Instances<Engine>::behind(self);
    if (!engine && !Instances<Engine>::initialised(self)) {
      PyErr_SetString(PyExc_TypeError,
                      "Engine: expected one whose __init__ ran, got one that is not made yet");
      return nullptr;
    }
    if (!engine) engine = &py::cast<const Engine&>(py::handle(self));
    auto result = std::make_unique<Result>(
        search(*engine, object(kText), object(kVector), object(kScope), objects[kK], objects[kMode],
               object(kCandidates), object(kRrfK), object(kWeights), object(kRankings), object(kFusion),
               given[kExplain] == Py_True, object(kRecall), object(kEmbedder), object(kFilter), object(kIds),
               object(kExcludeIds), object(kEntities)));
    return Instances<Result>::make(std::move(result)).release().ptr();
  } catch (...) {  // pybind11's entry raises the same error properly
    PyErr_Clear();
    return search_slowly(self, arguments, n_positional, keywords);
  }
}

void install_fast_search(py::class_<Engine>& type) {
  auto* state = new FastSearch;
  for (int i = 0; i < kNParameters; ++i) state->names[i] = PyUnicode_InternFromString(kNames[i]);
  state->hybrid = PyUnicode_InternFromString("hybrid");
  state->slow = py::object(type.attr("search")).release().ptr();
  state->documentation = py::cast<std::string>(type.attr("search").attr("__doc__"));
  state->definition = {"search", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&search_fast)),
                       METH_FASTCALL | METH_KEYWORDS, state->documentation.c_str()};
  fast_search_state = state;
  type.attr("search") = py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &state->definition));
}

constexpr const char* kSearchDoc = R"(The best k visible documents, by one native call without the GIL.

Args:
    text: what the lexical arm looks for (str or bytes; invalid UTF-8 becomes U+FFFD), or None.
    vector: (dim,) real numbers for the vector arm, or None; C-contiguous float32 is read in place.
    scope: whose memories may be seen; nothing else influences the result.
    k: how many, >= 1; more than there are gives all that match.
    mode: 'hybrid' (what is given: both arms fused, or the one there is), 'lexical' or 'vector'.
    candidates: how many each ranking contributes to the fusion, >= 1; None: max(100, k).
    rrf_k, weights: plain reciprocal rank fusion (Cormack et al. 2009): score(d) = sum of weight / (rrf_k + rank) over
        the rankings that hold d; weights are (lexical, vector), 1.0 each unless given, and rrf_k is 60.
    rankings: further rankings of the caller's, each a sequence of ids, best first, with weight 1.0; ids that are not
        visible are passed over.
    fusion: how the rankings become one and what else decides the order (scrubjay.Auto, RRF, Weighted, Boost,
        Production, or all options together: scrubjay.Ranking); None: Auto with the identifier tier.
    explain: fill bm25, similarities, coverage and matched_terms for every hit.
    recall: the share of the truly nearest that the vector arm should find, in (0, 1], None: 0.99. 1.0 or 'exact' scores
        every visible vector. Below that, compressed codes or a graph choose which vectors are looked at; similarities
        are those of the stored vectors all the same, and the same in every run and on every CPU.
    embedder: a StaticEmbedder that makes the vector of the text in the same call, if no vector is given. A text in which
        it finds nothing is looked for by its words, whatever the mode.
    filter: conditions on the metadata of the payload, a mapping (see scrubjay.filters) or a Filter; what it does not
        admit is no candidate. BM25's statistics stay those of all visible documents.
    entities: names of what the search is about, for a ranking that weighs entities (scrubjay.Entities).
    ids, exclude_ids: only these documents, all but these: a set, list, integer array, pyroaring bitmap or other iterable.

Returns:
    A Result, by descending score; ties by partition ((tenant), (tenant, user), (tenant, agent), (tenant, user, agent)),
    then by order of writing. Scores: BM25 (float64, exact fixed point), similarity, or fused.

Raises:
    ValueError: neither text nor vector, k < 1, a vector of the wrong dimension, not finite or all zeros, and so on.
    TypeError: a wrong type, or no scope.)";

}  // namespace

void register_search(py::class_<Engine>& type) {
  Instances<Engine>::remember(type);
  type.def("search", &search, py::arg("text") = py::none(), py::kw_only(), py::arg("vector") = py::none(),
           py::arg("scope"), py::arg("k") = kDefaultK, py::arg("mode") = "hybrid",
           py::arg("candidates") = py::none(), py::arg("rrf_k") = py::none(), py::arg("weights") = py::none(),
           py::arg("rankings") = py::none(), py::arg("fusion") = py::none(), py::arg("explain") = false,
           py::arg("recall") = py::none(), py::arg("embedder") = py::none(), py::arg("filter") = py::none(),
           py::arg("ids") = py::none(), py::arg("exclude_ids") = py::none(), py::arg("entities") = py::none(),
           kSearchDoc)
      .def("search_batch", &search_batch, py::arg("texts") = py::none(), py::kw_only(),
           py::arg("vectors") = py::none(), py::arg("scope"), py::arg("k") = kDefaultK,
           py::arg("mode") = "hybrid", py::arg("candidates") = py::none(), py::arg("rrf_k") = py::none(),
           py::arg("weights") = py::none(), py::arg("fusion") = py::none(), py::arg("explain") = false,
           py::arg("recall") = py::none(), py::arg("threads") = py::none(), py::arg("embedder") = py::none(),
           py::arg("filter") = py::none(), py::arg("ids") = py::none(), py::arg("exclude_ids") = py::none(),
           py::arg("entities") = py::none(),
           "n searches on `threads` threads (None: as many as the machine has cores, which is also the "
           "most); texts (n,), vectors (n, "
           "dim), one scope or n. See search().");
  install_fast_search(type);
}

}  // namespace scrubjay::bindings
