// Searching: the binding of the search call.
#include <pybind11/stl.h>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "embedder.hpp"
#include "engine/engine.hpp"
#include "fast_method.hpp"
#include "filter.hpp"
#include "gil.hpp"
#include "instances.hpp"
#include "query.hpp"
#include "result.hpp"
#include "sequences.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Engine;

constexpr int kDefaultK = 10;

// `row`: the search's position in a batch, which error messages name.
void check_inputs(const engine::SearchRequest& request, std::optional<size_t> row = std::nullopt) {
  const auto text_name = [row] { return row ? at("texts", *row) : std::string("text"); };
  const auto vector_name = [row] { return row ? at("vectors", *row) : std::string("vector"); };
  const bool walks = request.links && !request.links->centres.empty();
  if (!request.text && request.vector.empty() && request.rankings.empty() && !walks)
    throw py::value_error(text_name() + ", " + vector_name() +
                          ": expected at least one of them, got neither");
  if (!request.semantic && !request.text)
    throw py::value_error(text_name() + ": expected a text in mode 'lexical', got None");
  if (!request.lexical && request.vector.empty() && !(request.embedder && request.text))
    throw py::value_error(vector_name() + ": expected a vector in mode 'vector', got None");
}

const embed::StaticEmbedder* to_embedder(const py::object& value) {
  if (value.is_none()) return nullptr;
  if (!py::isinstance<StaticEmbedder>(value))
    throw py::type_error("embedder: expected a StaticEmbedder or None, got " + type_name(value));
  return &py::cast<const StaticEmbedder&>(value).core;
}

// The arguments of a search except its text and vector. The request points into it.
struct Arguments {
  engine::SearchRequest request;
  QueryArgument query;
  FilterArguments admitted;

  Arguments(const py::object& k, const py::object& filter, const py::object& query_value, bool explain,
            const py::object& embedder)
      : query(query_value), admitted(filter, py::none(), py::none()) {
    request.k = to_count(k, "k", 1);
    request.ranking = &engine::default_ranking();
    request.filter = admitted.view();
    request.explain = explain;
    request.embedder = to_embedder(embedder);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
};

Result search(const Engine& engine, const py::object& text, const py::object& scope, const py::object& k,
              const py::object& filter, const py::object& vector, const py::object& query, bool explain,
              const py::object& embedder, const py::object& entities) {
  Arguments arguments(k, filter, query, explain, embedder);
  engine::SearchRequest& request = arguments.request;
  py::object keep_text;
  FloatArray floats;
  std::optional<SeveralScopes> several;
  if (PyList_Check(scope.ptr()) || PyTuple_Check(scope.ptr())) {
    several.emplace(scope);
    request.together = several->visible();
  } else {
    request.scope = &as_scope(scope, "scope");  // owned by the caller's argument
  }
  if (!text.is_none()) request.text = to_text(text, "text", keep_text);
  if (!vector.is_none()) {
    floats = to_vector(vector, "vector");
    request.vector = as_span(floats);
  }
  if (arguments.query.get()) arguments.query.get()->apply(request);
  std::vector<filter::Predicate> named;
  if (!entities.is_none()) {
    named = to_entities(entities, *request.ranking, "entities");
    request.entities = named;
  }
  check_inputs(request);
  // Analysing megabytes takes seconds and must be interruptible by Ctrl-C. Questions are shorter and do not
  // pay for that.
  constexpr size_t kLongText = size_t{1} << 16;
  if (request.text && request.text->size() > kLongText) {
    const InterruptibleWithoutGil without_gil;
    return {engine.search(request), engine.id_kind()};
  }
  const SearchWithoutGil without_gil;
  return {engine.search(request), engine.id_kind()};
}

// One query for all searches of a batch, or one for each.
std::vector<QueryArgument> to_queries(const py::object& query, size_t n) {
  std::vector<QueryArgument> queries;
  if (!PyList_Check(query.ptr()) && !PyTuple_Check(query.ptr())) {
    queries.emplace_back(query);
    return queries;
  }
  const py::tuple items = items_of(query, "query");
  check_length(items, "query", n);
  for (size_t i = 0; i < n; ++i) queries.emplace_back(py::reinterpret_borrow<py::object>(items[i]));
  return queries;
}

std::vector<Result> search_batch(const Engine& engine, const py::object& texts, const py::object& scope,
                                 const py::object& k, const py::object& filter, const py::object& vectors,
                                 const py::object& query, bool explain, const py::object& threads,
                                 const py::object& embedder, const py::object& entities) {
  const Arguments arguments(k, filter, py::none(), explain, embedder);
  if (texts.is_none() && vectors.is_none())
    throw py::value_error("texts, vectors: expected at least one of them, got neither");
  py::tuple text_items;
  if (!texts.is_none()) text_items = items_of(texts, "texts");
  const size_t n = texts.is_none() ? py::len(vectors) : text_items.size();
  const Vectors rows(vectors, "vectors", n);
  const std::vector<ScopePtr> scopes = to_scopes(scope, n);
  const std::vector<QueryArgument> queries = to_queries(query, n);
  size_t n_threads = threads.is_none() ? 0 : to_count(threads, "threads", 1);
  std::vector<py::object> keep(n);
  std::vector<engine::SearchRequest> requests(n, arguments.request);
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
    const CompiledQuery* const compiled = queries[queries.size() == 1 ? 0 : i].get();
    if (compiled) compiled->apply(requests[i]);
    if (!entities.is_none() && !entity_items[i].is_none()) {
      named[i] = to_entities(entity_items[i], *requests[i].ranking, at("entities", i));
      requests[i].entities = named[i];
    }
    check_inputs(requests[i], i);
  }
  std::vector<engine::SearchResult> outcomes;
  // A worker thread cannot get the GIL for a stemmer once the interpreter is shutting down.
  if (interpreter_ends()) n_threads = 1;
  {
    const InterruptibleWithoutGil without_gil;
    outcomes = engine.search_batch(requests, static_cast<unsigned>(std::min<size_t>(n_threads, 1024)));
  }
  std::vector<Result> results;
  results.reserve(n);
  for (engine::SearchResult& result : outcomes) results.push_back({std::move(result), engine.id_kind()});
  return results;
}

// The same without pybind11's handling of arguments (see fast_method.hpp).
struct FastSearch {
  enum Parameter : size_t { kText, kScope, kK, kFilter, kVector, kQuery, kExplain, kEmbedder, kEntities };
  static constexpr const char* kName = "search";
  static constexpr auto kParameters = std::to_array<const char*>(
      {"text", "scope", "k", "filter", "vector", "query", "explain", "embedder", "entities"});
  static constexpr size_t kNPositional = 1;
  static constexpr uint32_t kRequired = 1u << kScope;

  static py::object call(Engine& engine, const FastArguments<kParameters.size()>& given) {
    const py::object& explain = given[kExplain];
    if (given.has(kExplain) && !PyBool_Check(explain.ptr())) return {};
    const py::object k = given.has(kK) ? given[kK] : py::int_(kDefaultK);
    auto result = std::make_unique<Result>(search(engine, given[kText], given[kScope], k, given[kFilter],
                                                  given[kVector], given[kQuery], explain.ptr() == Py_True,
                                                  given[kEmbedder], given[kEntities]));
    return Instances<Result>::make(std::move(result));
  }
};

constexpr const char* kSearchDoc = R"(The best k visible documents, by one native call without the GIL.

Args:
    text: the text for the lexical arm (str or bytes; invalid UTF-8 becomes U+FFFD), or None.
    scope: the scope whose visible memories are searched, or a list of scopes: the union of what they see,
        ranked as if one scope saw it. Other documents never influence the result.
    k: number of results, >= 1; fewer are returned if fewer match.
    filter: conditions on the metadata of the payload, a mapping (see scrubjay.filters) or a Filter; other
        documents are not candidates. BM25's statistics stay those of all visible documents.
    vector: (dim,) real numbers for the vector arm, or None; C-contiguous float32 is read in place.
    query: a scrubjay.Query: mode, fusion, signals, candidates, recall, ids, rankings; None: Query().
    explain: fill bm25, similarities, coverage and matched_terms for every hit.
    embedder: a StaticEmbedder that embeds the text in the same call, if no vector is given. A text without
        tokens is searched lexically, whatever the mode.
    entities: names of the entities that the search is about, instead of the query's.

Returns:
    A Result, by descending score; ties by partition ((tenant), (tenant, user), (tenant, agent), (tenant,
    user, agent); for several scopes in their order), then by order of writing. Scores: BM25 (float64, exact
    fixed point), similarity, or fused.

Raises:
    ValueError: neither text nor vector, k < 1, a vector of the wrong dimension, not finite or all zeros,
        and so on.
    TypeError: a wrong type, or no scope.)";

}  // namespace

void register_search(EngineClass& type) {
  Instances<Engine>::remember(type);
  type.def("search", &search, py::arg("text") = py::none(), py::kw_only(), py::arg("scope"),
           py::arg("k") = kDefaultK, py::arg("filter") = py::none(), py::arg("vector") = py::none(),
           py::arg("query") = py::none(), py::arg("explain") = false, py::arg("embedder") = py::none(),
           py::arg("entities") = py::none(), kSearchDoc)
      .def("search_batch", &search_batch, py::arg("texts") = py::none(), py::kw_only(), py::arg("scope"),
           py::arg("k") = kDefaultK, py::arg("filter") = py::none(), py::arg("vectors") = py::none(),
           py::arg("query") = py::none(), py::arg("explain") = false, py::arg("threads") = py::none(),
           py::arg("embedder") = py::none(), py::arg("entities") = py::none(),
           "n searches on `threads` threads (None: as many as the machine has cores, which is also the "
           "maximum); texts (n,), vectors (n, dim), one scope or n, one query or n. See search().");
  FastMethod<FastSearch>::install(type);
}

}  // namespace scrubjay::bindings
