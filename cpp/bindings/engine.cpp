#include "engine/engine.hpp"

#include <pybind11/stl.h>

#include <cmath>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "classes.hpp"
#include "convert.hpp"
#include "engine/row_checksum.hpp"
#include "fast_method.hpp"
#include "filter.hpp"
#include "gil.hpp"
#include "instances.hpp"
#include "result.hpp"
#include "sequences.hpp"
#include "simd/kernels.hpp"
#include "stemmer.hpp"
#include "vector/stored_vector.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Engine;

struct Document {
  engine::StoredDocument stored;
};

vector::Metric to_metric(const std::string& name) {
  if (name == "cosine") return vector::Metric::cosine;
  if (name == "ip") return vector::Metric::inner_product;
  if (name == "l2") return vector::Metric::l2;
  throw py::value_error("metric: expected 'cosine', 'ip' or 'l2', got '" + name + "'");
}

engine::VectorPlan to_plan(const std::string& name) {
  if (name == "auto") return engine::VectorPlan::automatic;
  if (name == "rows") return engine::VectorPlan::rows;
  if (name == "codes") return engine::VectorPlan::codes;
  if (name == "graph") return engine::VectorPlan::graph;
  throw py::value_error("vector_plan: expected 'auto', 'rows', 'codes' or 'graph', got '" + name + "'");
}

const char* metric_name(vector::Metric metric) {
  return metric == vector::Metric::cosine ? "cosine" : metric == vector::Metric::inner_product ? "ip" : "l2";
}

// None if the average length decides.
std::optional<double> parameter(double value) {
  if (value == lexical::Bm25Parameters::kByLength) return std::nullopt;
  return value;
}

vector::Storage to_storage(const std::string& dtype) {
  if (dtype == "f16") return vector::Storage::f16;
  if (dtype == "f32") return vector::Storage::f32;
  if (dtype == "i8") return vector::Storage::i8;
  throw py::value_error("dtype: expected 'f16', 'f32' or 'i8', got '" + dtype + "'");
}

const char* dtype_name(vector::Storage storage) {
  switch (storage) {
    case vector::Storage::f16:
      return "f16";
    case vector::Storage::f32:
      return "f32";
    case vector::Storage::i8:
      break;
  }
  return "i8";
}

EngineHolder make_engine(const py::object& dim, const std::string& metric, const std::string& dtype,
                         const std::string& analyzer, const py::object& stemmer, std::optional<double> k1,
                         std::optional<double> b, uint32_t chunk_docs, const std::string& vector_plan,
                         bool background) {
  engine::EngineOptions options;
  if (!dim.is_none()) {
    const size_t n = to_count(dim, "dim", 1);
    if (n > vector::kMaxDim) throw py::value_error("dim: expected 1 to 4096, got " + quoted(dim));
    options.dim = static_cast<uint32_t>(n);
  }
  options.metric = to_metric(metric);
  options.storage = to_storage(dtype);
  options.analyzer = {analyzer, to_stemmer(stemmer)};
  // -1 means "by the average length" internally; from a caller it is an error.
  if (k1 && !(*k1 >= 0.0))
    throw py::value_error("k1: expected None or a finite number >= 0, got " + std::to_string(*k1));
  if (b && !(*b >= 0.0))
    throw py::value_error("b: expected None or a number from 0 to 1, got " + std::to_string(*b));
  if (k1) options.bm25.k1 = *k1;
  if (b) options.bm25.b = *b;
  if (chunk_docs < 1 || chunk_docs > engine::kMaxChunkDocs)
    throw py::value_error("chunk_docs: expected 1 to 65536, got " + std::to_string(chunk_docs));
  options.chunk_docs = chunk_docs;
  options.vector_plan = to_plan(vector_plan);
  options.background = background;
  (void)simd::kernels();  // reports an invalid SCRUBJAY_SIMD here, not in the middle of a search
  return EngineHolder(new Engine(std::move(options)));
}

std::optional<std::string_view> to_payload(py::handle value, const std::string& name) {
  if (value.is_none()) return std::nullopt;
  if (!PyBytes_Check(value.ptr()))
    throw py::type_error(name + ": expected bytes or None, got " + type_name(value));
  return std::string_view(PyBytes_AS_STRING(value.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(value.ptr())));
}

void upsert(Engine& engine, const py::object& id, const py::object& text, const py::object& scope,
            const py::object& vector, const py::object& payload) {
  engine::DocumentInput document;
  py::object keep_text;
  DocumentVectors vectors;
  document.id = to_id(id, "id");
  document.text = to_text(text, "text", keep_text);
  document.scope = to_scope(scope, "scope");
  document.payload = to_payload(payload, "payload");
  if (!vector.is_none()) {
    vectors = DocumentVectors(vector, "vector");
    document.vector = as_span(vectors.floats);
    document.passages = vectors.passages;
  }
  const InterruptibleWithoutGil without_gil;
  engine.upsert({&document, 1});
}

// The arguments of upsert_many() in the engine's form, with the owners of their bytes.
struct Batch {
  std::vector<py::object> keep;
  py::tuple ids, texts, payloads;
  std::optional<Vectors> rows;
  std::vector<engine::DocumentInput> documents;

  // One document; its vector belongs to the caller.
  Batch(const py::object& id, const py::object& text, const py::object& scope, const py::object& payload)
      : ids(py::make_tuple(id)), texts(py::make_tuple(text)), payloads(py::make_tuple(payload)) {
    keep.resize(1);
    documents.resize(1);
    documents[0].id = to_id(id, "id");
    documents[0].text = to_text(text, "text", keep[0]);
    documents[0].scope = to_scope(scope, "scope");
    documents[0].payload = to_payload(payload, "payload");
  }

  Batch(const py::object& id_values, const py::object& text_values, const py::object& scope,
        const py::object& vectors, const py::object& payload_values)
      : ids(items_of(id_values, "ids")), texts(items_of(text_values, "texts")) {
    const size_t n = ids.size();
    check_length(texts, "texts", n);
    const std::vector<ScopePtr> scopes = to_scopes(scope, n);
    rows.emplace(vectors, "vectors", n);
    if (!payload_values.is_none()) {
      payloads = items_of(payload_values, "payloads");
      check_length(payloads, "payloads", n);
    }
    keep.resize(n);
    documents.resize(n);
    for (size_t i = 0; i < n; ++i) {
      documents[i].id = to_id(ids[i], at("ids", i));
      documents[i].text = to_text(texts[i], at("texts", i), keep[i]);
      documents[i].scope = scopes[i];
      documents[i].vector = rows->row(i);
      documents[i].passages = rows->passages(i);
      if (!payload_values.is_none()) documents[i].payload = to_payload(payloads[i], at("payloads", i));
    }
  }
};

size_t upsert_many(Engine& engine, const py::object& ids, const py::object& texts, const py::object& scope,
                   const py::object& vectors, const py::object& payloads) {
  const Batch batch(ids, texts, scope, vectors, payloads);
  const InterruptibleWithoutGil without_gil;
  return engine.upsert(batch.documents);
}

[[noreturn]] void raise_conflict(const Batch& batch, const engine::VersionConflict& conflict) {
  const auto row = static_cast<size_t>(conflict.document - batch.documents.data());
  const py::object type = py::module_::import("scrubjay.base.errors").attr("VersionConflictError");
  PyErr_SetObject(type.ptr(),
                  py::make_tuple(batch.ids[row], conflict.document->expected, conflict.found).ptr());
  throw py::error_already_set();
}

py::typing::List<py::int_> upsert_versioned(Engine& engine, const py::object& ids, const py::object& texts,
                                            const py::object& scope, const py::object& versions,
                                            const py::object& vectors, const py::object& payloads) {
  Batch batch(ids, texts, scope, vectors, payloads);
  const py::tuple expected = items_of(versions, "versions");
  check_length(expected, "versions", batch.documents.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].is_none()) batch.documents[i].expected = to_count(expected[i], at("versions", i), 0);
  }
  engine::Written written;
  try {
    const InterruptibleWithoutGil without_gil;
    written = engine.write(batch.documents);
  } catch (const engine::VersionConflict& conflict) {
    raise_conflict(batch, conflict);
  }
  py::list out;
  for (size_t i = 0; i < written.n_docs; ++i) out.append(written.first_version + i);
  return out;
}

void validate(const Engine& engine, const py::object& ids, const py::object& texts, const py::object& scope,
              const py::object& vectors, const py::object& payloads) {
  const Batch batch(ids, texts, scope, vectors, payloads);
  const InterruptibleWithoutGil without_gil;
  engine.validate(batch.documents);
}

// Prepared documents, with the owners of their bytes.
struct PreparedDocuments {
  Batch batch;
  engine::PreparedBatch prepared;
  py::object engine;  // set by prepare_row(); kept alive with these documents
};

// A document on its way to a store.
struct PreparedRow {
  std::unique_ptr<PreparedDocuments> documents;
  std::vector<char> stored_vector;  // empty: it has none
  std::string checksum;
};

std::unique_ptr<PreparedDocuments> prepare(const Engine& engine, const py::object& ids,
                                           const py::object& texts, const py::object& scope,
                                           const py::object& vectors, const py::object& payloads) {
  auto out = std::make_unique<PreparedDocuments>(
      PreparedDocuments{Batch(ids, texts, scope, vectors, payloads), engine::PreparedBatch(), {}});
  {
    const InterruptibleWithoutGil without_gil;
    engine.prepare(out->batch.documents, out->prepared);
  }
  out->batch.rows.reset();  // they were copied
  return out;
}

PreparedRow prepared_row(const Engine& engine, const py::object& id, const py::object& text,
                         const py::object& scope, const py::object& vector, const py::object& payload) {
  PreparedRow row;
  row.documents = std::make_unique<PreparedDocuments>(
      PreparedDocuments{Batch(id, text, scope, payload), engine::PreparedBatch(), py::cast(&engine)});
  std::vector<engine::DocumentInput>& documents = row.documents->batch.documents;
  engine::DocumentInput& document = documents[0];
  std::vector<float> floats;
  if (!vector.is_none()) {
    const FloatArray elements = to_vector(vector, "vector");
    floats.assign(elements.data(), elements.data() + elements.size());
    document.vector = floats;
  }
  {
    const InterruptibleWithoutGil without_gil;
    engine.validate(documents);
    if (!floats.empty()) row.stored_vector = vector::store_vector(engine.options().storage, floats);
    row.checksum = engine::row_checksum(*document.scope, document.id, document.text, document.payload);
    engine.prepare(documents, row.documents->prepared);
  }
  document.vector = {};  // it was copied
  return row;
}

py::typing::Tuple<PreparedDocuments, py::typing::Optional<py::bytes>, py::bytearray> prepare_row(
    const Engine& engine, const py::object& id, const py::object& text, const py::object& scope,
    const py::object& vector, const py::object& payload) {
  PreparedRow row = prepared_row(engine, id, text, scope, vector, payload);
  py::object stored = py::none();
  if (!row.stored_vector.empty()) stored = py::bytes(row.stored_vector.data(), row.stored_vector.size());
  return py::make_tuple(Instances<PreparedDocuments>::make(std::move(row.documents)), std::move(stored),
                        py::bytearray(row.checksum.data(), row.checksum.size()));
}

size_t apply(Engine& engine, const PreparedDocuments& documents) {
  const InterruptibleWithoutGil without_gil;
  return engine.apply(documents.prepared);
}

std::optional<size_t> apply_all(Engine& engine, const py::object& prepared, const py::object& scope,
                                const py::object& n_documents) {
  const py::tuple items = items_of(prepared, "prepared");
  std::vector<const engine::PreparedBatch*> batches(items.size());
  size_t n = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    const auto* documents = Instances<PreparedDocuments>::behind(items[i].ptr());
    if (!documents)
      throw py::type_error(at("prepared", i) + ": expected PreparedDocuments, got " + type_name(items[i]));
    if (documents->prepared.engine() != &engine) return std::nullopt;
    batches[i] = &documents->prepared;
    n += batches[i]->documents().size();
  }
  if (n != to_count(n_documents, "n_documents", 0)) return std::nullopt;
  const engine::Scope& written = as_scope(scope, "scope");
  const InterruptibleWithoutGil without_gil;
  for (const engine::PreparedBatch* batch : batches) engine.apply(*batch);
  return engine.partition_bytes(written);
}

bool remove(Engine& engine, const py::object& id, const py::object& scope) {
  const engine::DocumentKey key{&as_scope(scope, "scope"), to_id(id, "id")};
  const WithoutGil without_gil;
  return engine.remove({&key, 1}) == 1;
}

size_t remove_many(Engine& engine, const py::object& ids, const py::object& scope,
                   const py::object& versions) {
  const py::tuple items = items_of(ids, "ids");
  const std::vector<ScopePtr> scopes = to_scopes(scope, items.size());
  std::vector<engine::DocumentKey> keys(items.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = {scopes[i].get(), to_id(items[i], at("ids", i))};
  std::vector<uint64_t> expected;
  if (!versions.is_none()) {
    const py::tuple numbers = items_of(versions, "versions");
    check_length(numbers, "versions", items.size());
    expected.reserve(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      expected.push_back(to_count(numbers[i], at("versions", i), 0));
  }
  const InterruptibleWithoutGil without_gil;  // documents deleted before an interruption stay deleted
  return engine.remove(keys, expected);
}

std::optional<Document> get(const Engine& engine, const py::object& id, const py::object& scope) {
  const engine::Id wanted = to_id(id, "id");
  const engine::Scope& seen_from = as_scope(scope, "scope");
  const WithoutGil without_gil;
  std::optional<engine::StoredDocument> stored = engine.get(wanted, seen_from);
  if (!stored) return std::nullopt;
  return Document{std::move(*stored)};
}

// Calls for one document, without pybind11's handling of arguments (see fast_method.hpp).
struct FastGet {
  static constexpr const char* kName = "get";
  static constexpr auto kParameters = std::to_array<const char*>({"id", "scope"});
  static constexpr size_t kNPositional = 1;
  static constexpr uint32_t kRequired = 0b11;

  static py::object call(Engine& engine, const FastArguments<2>& given) {
    std::optional<Document> document = get(engine, given[0], given[1]);
    if (!document) return py::none();
    return Instances<Document>::make(std::make_unique<Document>(std::move(*document)));
  }
};

struct FastDelete {
  static constexpr const char* kName = "delete";
  static constexpr auto kParameters = std::to_array<const char*>({"id", "scope"});
  static constexpr size_t kNPositional = 1;
  static constexpr uint32_t kRequired = 0b11;

  static py::object call(Engine& engine, const FastArguments<2>& given) {
    return py::bool_(remove(engine, given[0], given[1]));
  }
};

struct FastUpsert {
  static constexpr const char* kName = "upsert";
  static constexpr auto kParameters =
      std::to_array<const char*>({"id", "text", "scope", "vector", "payload"});
  static constexpr size_t kNPositional = 2;
  static constexpr uint32_t kRequired = 0b111;

  static py::object call(Engine& engine, const FastArguments<5>& given) {
    upsert(engine, given[0], given[1], given[2], given[3], given[4]);
    return py::none();
  }
};

struct FastPrepareRow {
  static constexpr const char* kName = "prepare_row";
  static constexpr auto kParameters =
      std::to_array<const char*>({"id", "text", "scope", "vector", "payload"});
  static constexpr size_t kNPositional = 2;
  static constexpr uint32_t kRequired = 0b111;

  static py::object call(Engine& engine, const FastArguments<5>& given) {
    return prepare_row(engine, given[0], given[1], given[2], given[3], given[4]);
  }
};

struct FastApplyAll {
  static constexpr const char* kName = "apply_all";
  static constexpr auto kParameters = std::to_array<const char*>({"prepared", "scope", "n_documents"});
  static constexpr size_t kNPositional = 1;
  static constexpr uint32_t kRequired = 0b111;

  static py::object call(Engine& engine, const FastArguments<3>& given) {
    const std::optional<size_t> n_bytes = apply_all(engine, given[0], given[1], given[2]);
    if (!n_bytes) return py::none();
    return py::int_(*n_bytes);
  }
};

py::dict stats(const Engine& engine, const py::object& scope) {
  ScopePtr keep = scope.is_none() ? nullptr : to_scope(scope, "scope");
  engine::EngineStats s;
  {
    const WithoutGil without_gil;
    s = engine.stats(keep.get());
  }
  py::dict out;
  out["documents"] = s.n_docs;
  out["dead"] = s.n_dead;
  out["vectors"] = s.n_vectors;
  out["partitions"] = s.n_partitions;
  out["chunks"] = s.n_chunks;
  out["terms"] = s.n_terms;
  out["postings"] = s.n_postings;
  out["memory_bytes"] = s.memory_bytes;
  out["text_bytes"] = s.text_bytes;
  out["vector_bytes"] = s.vector_bytes;
  out["posting_bytes"] = s.posting_bytes;
  out["graphs"] = s.n_graphs;
  out["graph_bytes"] = s.graph_bytes;
  out["graph_vectors"] = s.n_in_graphs;
  out["graph_extensions"] = s.n_graph_extensions;
  return out;
}

void register_document(py::module_& module) {
  auto type = export_class<Document>(module, "Document", "A stored document as of the time of its lookup.");
  Instances<Document>::remember(type);
  Instances<Document>::dispose_quickly();
  type.def_property_readonly(
          "id",
          [](const Document& d) -> py::typing::Union<py::int_, py::str> {
            const base::EpochGuard guard;
            return from_id(d.stored.chunk->id(d.stored.offset));
          },
          "The caller's id.")
      .def_property_readonly(
          "text",
          [](const Document& d) {
            const base::EpochGuard guard;
            return from_text(d.stored.chunk->text(d.stored.offset));
          },
          "The text.")
      .def_property_readonly(
          "payload",
          [](const Document& d) -> py::typing::Optional<py::bytes> {
            const base::EpochGuard guard;
            return payload_object(*d.stored.chunk.get(), d.stored.offset);
          },
          "The caller's bytes, or None.")
      .def_property_readonly(
          "scope",
          [](const Document& d) { return std::const_pointer_cast<engine::Scope>(d.stored.chunk->scope()); },
          "The exact scope.")
      .def_property_readonly(
          "vector",
          [](const Document& d) -> VectorOrPassages {
            return vector_object(*d.stored.chunk.get(), d.stored.offset);
          },
          "float32 (dim,), as stored (rounded to the engine's dtype), or None; for a document with passages "
          "a "
          "pair of float32 (n, dim) and their positions in its text, uint32 (n, 2).")
      .def_property_readonly(
          "version", [](const Document& d) { return d.stored.chunk->write(d.stored.offset); },
          "The write number of its last write.")
      .def("__repr__", [](const Document& d) {
        const base::EpochGuard guard;
        return "Document(" + d.stored.chunk->id(d.stored.offset).to_string() + ", " +
               quoted(from_text(d.stored.chunk->text(d.stored.offset))) + ")";
      });
}

constexpr const char* kEngineDoc =
    R"(BM25 and vector search over one set of documents: native, in memory, thread-safe.

The layer below Index: callers bring their own vectors, and calls go directly to native code.

Args:
    dim: dimensions of the vectors, 1 to 4096; None takes them from the first vector.
    metric: 'cosine', 'ip' (inner product) or 'l2' (negated squared Euclidean distance, so that higher is
        nearer).
    dtype: storage of vectors, 'f16' (a stored vector differs from the given one by at most 5e-4 of its
        norm), 'f32' or 'i8' (an element differs by at most 1/253 of the vector's largest one). In memory a
        vector takes 2, 4 or 1 bytes an element (rounded up to 16 elements) and 6;
        among 64 or more of 64 or more dimensions also a code of half a byte an element (rounded up to 128)
        and 6 to 10, and among 2,048 or more of more than 384 dimensions its signs, an eighth of a byte an
        element and 6; in a graph 40 (of 100,000 vectors) to 48 (of a million) more.
    analyzer: 'english', 'plain' (no stemming), a language of Snowball ('german', ...), or a name of your
        own together with `stemmer`.
    stemmer: called with a folded word, returns its stem; must be a pure function.
    k1, b: the parameters of BM25 (Robertson and Zaragoza 2009), k1 >= 0, 0 <= b <= 1. None: by the average
        length of the texts visible to a search, 0.4 and 0.2 up to 30 words, 1.2 and 0.75 from 60, linear
        between. With both given, the textbook formula applies: English function words of a query weigh as
        much as other words.
    chunk_docs: documents per chunk, 1 to 65536; small in tests.
    vector_plan: for tests and benchmarks: 'rows', 'codes' or 'graph' forces a strategy for the nearest
        vectors where it is available; 'auto' takes the cheapest.
    background: rewrite chunks with many deleted documents, and build and extend graphs for partitions of
        more than 8 MB of codes (65,536 vectors of 256 dimensions), on a native thread that starts on first
        use and ends with the engine. Changes no exact result; without it compact() and build_graphs() do
        the same.

Signals, forks, exit: on the main thread a long call (all but search()) ends soon after Ctrl-C with
KeyboardInterrupt; an incomplete document, rewrite or graph is dropped, while documents removed by erase()
and delete_many() stay removed. The child of a fork continues with a copy of the engine; if another thread
was writing for longer than the fork waited (its stemmer needs the GIL), writes to the copy raise Error.
Threads that are in a call when the interpreter shuts down are parked there.

Raises:
    ValueError, TypeError: naming the argument, the expected and the given value.

>>> from scrubjay import Engine, Scope
>>> engine = Engine(dim=2)
>>> jane = Scope("acme", user="jane")
>>> engine.upsert("m1", "The staging key starts with sk-stg-0041", scope=jane, vector=[1.0, 0.0])
>>> engine.upsert("m2", "Jane prefers tea", scope=jane, vector=[0.0, 1.0])
>>> ids, scores = engine.search("sk-stg-0041", vector=[0.9, 0.1], scope=jane)
>>> ids[0]
'm1'
>>> len(engine.search("sk-stg-0041", scope=Scope("acme", user="joe")))
0
)";

}  // namespace

// The destructor waits for upkeep and takes time, so it runs without the GIL. If the interpreter is shutting
// down, the engine is leaked: a parked thread may hold one of its locks, and the process ends anyway.
void EngineDeleter::operator()(Engine* engine) const noexcept {
  if (interpreter_ends()) return;
  const WithoutGil without_gil;
  delete engine;
}

void register_engine(py::module_& module) {
  register_document(module);
  auto type = export_class<Engine, EngineHolder>(module, "Engine", kEngineDoc);
  auto prepared =
      export_class<PreparedDocuments>(
          module, "PreparedDocuments",
          "Documents that Engine.prepare() checked, copied and analysed; Engine.apply() writes them.")
          .def("__len__", [](const PreparedDocuments& d) { return d.prepared.documents().size(); });
  Instances<PreparedDocuments>::remember(prepared);
  Instances<PreparedDocuments>::dispose_quickly();
  module.def(
      "copied_vector", &copied_vector, py::arg("vector"), py::arg("dim"),
      R"(Return a copy of a contiguous float32 array of shape (dim,) whose numbers are finite and not all 0.

Returns None for anything else, and for numbers whose squares overflow or underflow float32, which need a
closer check.)");
  type.def(py::init(&make_engine), py::arg("dim") = py::none(), py::arg("metric") = "cosine", py::kw_only(),
           py::arg("dtype") = "f16", py::arg("analyzer") = "english", py::arg("stemmer") = py::none(),
           py::arg("k1") = py::none(), py::arg("b") = py::none(),
           py::arg("chunk_docs") = engine::kMaxChunkDocs, py::arg("vector_plan") = "auto",
           py::arg("background") = true)
      .def_property_readonly(
          "dim",
          [](const Engine& e) -> py::typing::Optional<py::int_> {
            if (e.dim() == 0) return py::none();
            return py::int_(e.dim());
          },
          "Dimensions of the vectors; None before the first vector.")
      .def_property_readonly(
          "metric", [](const Engine& e) { return metric_name(e.options().metric); },
          "'cosine', 'ip' or 'l2'.")
      .def_property_readonly(
          "dtype", [](const Engine& e) { return dtype_name(e.options().storage); }, "'f16', 'f32' or 'i8'.")
      .def_property_readonly(
          "analyzer", [](const Engine& e) { return std::string(e.analyzer().name()); },
          "The versioned name of the analyzer.")
      .def_property_readonly(
          "k1", [](const Engine& e) { return parameter(e.options().bm25.k1); },
          "BM25's k1; None: by the average length of the visible documents.")
      .def_property_readonly(
          "b", [](const Engine& e) { return parameter(e.options().bm25.b); },
          "BM25's b; None: by the average length of the visible documents.")
      .def("upsert", &upsert, py::arg("id"), py::arg("text"), py::kw_only(), py::arg("scope"),
           py::arg("vector") = py::none(), py::arg("payload") = py::none(),
           R"(Inserts a document, or replaces the one with this id in this scope.

Visible to the next search of any thread. Text (as UTF-8) and payload may have 16 MiB each, the text
8,388,608 tokens. Waits only for other writers of exactly this scope.

Raises: ValueError or TypeError for invalid arguments; nothing is changed then.)")
      .def(
          "upsert_many", &upsert_many, py::arg("ids"), py::arg("texts"), py::kw_only(), py::arg("scope"),
          py::arg("vectors") = py::none(), py::arg("payloads") = py::none(),
          R"(Upserts n documents in order: ids (n,), texts (n,), one scope or n, vectors (n, dim) or n vectors and Nones.

All or nothing: everything is checked before anything is written, and a failed write is rolled back. Of
equal (scope, id) the last one counts. Documents that are new to their partition become visible at once.
Returns the number of distinct documents written.)")
      .def("upsert_versioned", &upsert_versioned, py::arg("ids"), py::arg("texts"), py::kw_only(),
           py::arg("scope"), py::arg("versions"), py::arg("vectors") = py::none(),
           py::arg("payloads") = py::none(),
           R"(Conditional upsert_many().

`versions` has for each document the version that it must have now, 0 if it must not exist, None for no
condition (of equal (scope, id) the last one's applies). Returns the versions of the distinct documents
written.

Raises: VersionConflictError for the first condition that is not met; nothing is written then. Conditions
are checked in the writer's turn.)")
      .def("prepare", &prepare, py::arg("ids"), py::arg("texts"), py::kw_only(), py::arg("scope"),
           py::arg("vectors") = py::none(), py::arg("payloads") = py::none(), py::keep_alive<0, 1>(),
           R"(Checks, copies and analyses documents: the part of upsert_many() that needs no writer's turn.

apply() does the rest. Raises what upsert_many() raises. Nothing is written yet, and other writers are not
blocked.)")
      .def(
          "prepare_row", &prepare_row, py::arg("id"), py::arg("text"), py::kw_only(), py::arg("scope"),
          py::arg("vector") = py::none(), py::arg("payload") = py::none(),
          R"(prepare() for one document as it will be read from a store's row: with the vector that its encoding gives.

Returns the document, the vector in the format of the row (None: no vector), and the checksum of the row. The
checksum is right only if `text` is what the row holds: a str, or bytes in UTF-8.
Raises what upsert() raises. Nothing is written yet.)")
      .def(
          "apply", &apply, py::arg("prepared"),
          R"(Writes documents from prepare() of this engine, all or nothing; returns the number of distinct documents.

Raises: TypeError or ValueError if other writers fixed a different kind of ids or dimension meanwhile,
ValueError for documents that another engine prepared.)")
      .def("apply_all", &apply_all, py::arg("prepared"), py::kw_only(), py::arg("scope"),
           py::arg("n_documents"),
           R"(apply() for several prepared documents of one scope in turn.

Returns partition_bytes() of the scope afterwards. Returns None, and writes nothing, if another engine
prepared some of them or they are not `n_documents`.)")
      .def("validate", &validate, py::arg("ids"), py::arg("texts"), py::kw_only(), py::arg("scope"),
           py::arg("vectors") = py::none(), py::arg("payloads") = py::none(),
           "Raises what upsert_many() would raise for the documents themselves; writes nothing.")
      .def("delete", &remove, py::arg("id"), py::kw_only(), py::arg("scope"),
           "Deletes the document of exactly this scope from every projection at once; returns whether it "
           "existed.")
      .def(
          "delete_many", &remove_many, py::arg("ids"), py::kw_only(), py::arg("scope"),
          py::arg("versions") = py::none(),
          "Deletes documents of exactly this scope, or of a sequence of scopes, one for each id; returns how "
          "many existed. With `versions`, one for each id, documents with another version are not deleted.")
      .def(
          "erase",
          [](Engine& e, const py::object& scope, bool exact) {
            const ScopePtr erased = to_scope(scope, "scope");
            const InterruptibleWithoutGil without_gil;
            return e.erase(*erased, exact);
          },
          py::arg("scope"), py::kw_only(), py::arg("exact") = false,
          R"(Erases every document within `scope`: with all its components equal (for a tenant: all of its documents).

With `exact`, erases only documents of exactly this scope. Returns their number.)")
      .def(
          "count",
          [](const Engine& e, const py::object& scope, const py::object& filter, const py::object& ids,
             const py::object& exclude) {
            const ScopePtr counted = scope.is_none() ? nullptr : to_scope(scope, "scope");
            const FilterArguments admitted(filter, ids, exclude);
            if (!counted && admitted.view().any())
              throw py::type_error("scope: expected a scrubjay.Scope with a filter, got None");
            const InterruptibleWithoutGil without_gil;
            return admitted.view().any() ? e.count(*counted, admitted.view()) : e.count(counted.get());
          },
          py::arg("scope") = py::none(), py::kw_only(), py::arg("filter") = py::none(),
          py::arg("ids") = py::none(), py::arg("exclude") = py::none(),
          "Number of documents visible from `scope` that the filter admits (see search()); without a scope, "
          "of all documents.")
      .def("get", &get, py::arg("id"), py::kw_only(), py::arg("scope"),
           "The most specific document with this id that is visible from `scope`, or None: its own before "
           "shared ones (a user's before an agent's).")
      .def("stats", &stats, py::arg("scope") = py::none(),
           "Counts and bytes: documents, dead (deleted documents), vectors, partitions, chunks, terms, "
           "postings, memory_bytes, text_bytes, vector_bytes, posting_bytes, graphs, graph_bytes, "
           "graph_vectors (vectors in graphs), graph_extensions (since they were built).")
      .def(
          "build_graphs",
          [](Engine& e, const py::object& min_vectors) {
            const size_t n = to_count(min_vectors, "min_vectors", 1);
            const InterruptibleWithoutGil without_gil;
            return e.build_graphs(n);
          },
          py::arg("min_vectors") = 50'000,
          R"(Builds an HNSW graph for every partition with at least `min_vectors` vectors; returns the number of graphs.

Searches and writes continue meanwhile; documents written later are scanned beside the graph until it is
extended (in the background, see `background`) or rebuilt. Results of a graph are scored from the stored
originals; only the choice of candidates is approximate (search with recall="exact" to scan). Below some
20,000 vectors the scan is faster.)")
      .def(
          "compact",
          [](Engine& e) {
            const InterruptibleWithoutGil without_gil;
            return e.compact();
          },
          "Rewrites chunks with deleted documents, concurrently with searches and writes, releases their "
          "memory, and returns the number of purged documents.")
      .def("__len__",
           [](const Engine& e) {
             const WithoutGil without_gil;
             return e.count(nullptr);
           })
      .def("__repr__", [](const Engine& e) {
        std::string dim = e.dim() == 0 ? "None" : std::to_string(e.dim());
        size_t n = 0;
        {
          const WithoutGil without_gil;
          n = e.count(nullptr);
        }
        return "Engine(dim=" + dim + ", metric='" + metric_name(e.options().metric) +
               "', documents=" + std::to_string(n) + ")";
      });
  FastMethod<FastGet>::install(type);
  FastMethod<FastDelete>::install(type);
  FastMethod<FastUpsert>::install(type);
  FastMethod<FastPrepareRow>::install(type);
  FastMethod<FastApplyAll>::install(type);
  register_search(type);
  register_residence(type);
  register_lookup(type);
}

}  // namespace scrubjay::bindings
