#include "engine/result.hpp"

#include "base/epoch.hpp"
#include "bindings.hpp"
#include "classes.hpp"
#include "convert.hpp"
#include "engine/spelling.hpp"
#include "instances.hpp"
#include "result.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Hit;

const char* mode_name(engine::Mode mode) {
  switch (mode) {
    case engine::Mode::hybrid:
      return "hybrid";
    case engine::Mode::lexical:
      return "lexical";
    case engine::Mode::vector:
      return "vector";
    case engine::Mode::substring:
      return "substring";
    case engine::Mode::none:
      break;
  }
  return "none";
}

const Hit& hit_at(const Result& result, py::ssize_t i) {
  const auto n = static_cast<py::ssize_t>(result.found.hits.size());
  if (i < -n || i >= n) throw py::index_error("hit " + std::to_string(i) + " of " + std::to_string(n));
  return result.found.hits[static_cast<size_t>(i < 0 ? i + n : i)];
}

// A new uninitialised array of n elements; `data` receives their address. pybind11's constructors use two
// vectors for shape and strides.
template <class T>
py::array_t<T> new_array(size_t n, T*& data) {
  const auto& numpy = py::detail::npy_api::get();
  auto size = static_cast<Py_intptr_t>(n);
  PyObject* array =
      numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, numpy.PyArray_DescrFromType_(py::dtype::num_of<T>()),
                                  1, &size, nullptr, nullptr, 0, nullptr);
  if (!array) throw py::error_already_set();
  data = reinterpret_cast<T*>(py::detail::array_proxy(array)->data);
  return py::reinterpret_steal<py::array_t<T>>(array);
}

template <class T, class Get>
py::array_t<T> to_array(const Result& result, Get&& get) {
  T* out = nullptr;
  py::array_t<T> array = new_array(result.found.hits.size(), out);
  for (const Hit& hit : result.found.hits) *out++ = static_cast<T>(get(hit));
  return array;
}

py::array ids(const Result& result) {
  const base::EpochGuard guard;
  if (result.id_kind == engine::IdKind::integer) {
    return to_array<int64_t>(
        result, [&](const Hit& hit) { return result.found.chunk_of(hit).id(hit.offset).integer; });
  }
  py::array array(py::dtype("O"),
                  py::array::ShapeContainer{static_cast<py::ssize_t>(result.found.hits.size())});
  auto** out = static_cast<PyObject**>(array.mutable_data());
  for (const Hit& hit : result.found.hits) {
    PyObject* old = *out;
    *out++ = from_id(result.found.chunk_of(hit).id(hit.offset)).release().ptr();
    Py_XDECREF(old);
  }
  return array;
}

py::list texts(const Result& result) {
  py::list list(result.found.hits.size());
  const base::EpochGuard guard;
  for (size_t i = 0; i < result.found.hits.size(); ++i) {
    const Hit& hit = result.found.hits[i];
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i),
                    from_text(result.found.chunk_of(hit).text(hit.offset)).release().ptr());
  }
  return list;
}

py::array_t<double> scores(const Result& result) {
  return to_array<double>(result, [](const Hit& hit) { return hit.score; });
}

py::tuple unpacked(const Result& result) {
  auto pair = py::reinterpret_steal<py::tuple>(PyTuple_New(2));
  if (!pair) throw py::error_already_set();
  PyTuple_SET_ITEM(pair.ptr(), 0, ids(result).release().ptr());
  PyTuple_SET_ITEM(pair.ptr(), 1, scores(result).release().ptr());
  return pair;
}

// iter(result) without pybind11's dispatcher, for `ids, scores = engine.search(...)`; other types and errors
// use the usual way.
getiterfunc usual_iterator = nullptr;
PyObject* iterator_of(PyObject* object) {
  const Result* result = Instances<Result>::behind(object);
  if (!result) return usual_iterator(object);
  try {
    return PyObject_GetIter(unpacked(*result).ptr());
  } catch (...) {
    PyErr_Clear();
    return usual_iterator(object);
  }
}

py::object passages_object(const engine::Chunk& chunk, uint32_t offset) {
  const vector::Passages* passages = chunk.passages();
  const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr;
  if (!entry) return py::none();
  const auto n = static_cast<py::ssize_t>(entry->n);
  const size_t dim = passages->rows().options().dim;
  py::array_t<float> rows({n, static_cast<py::ssize_t>(dim)});
  py::array_t<uint32_t> spans({n, py::ssize_t{2}});
  for (uint32_t i = 0; i < entry->n; ++i) {
    passages->rows().read(entry->first + i, {rows.mutable_data() + i * dim, dim});
    const vector::PassageSpan span = passages->span(entry->first + i);
    spans.mutable_data()[2 * i] = span.start;
    spans.mutable_data()[2 * i + 1] = span.end;
  }
  return py::make_tuple(rows, spans);
}

}  // namespace

py::object payload_object(const engine::Chunk& chunk, uint32_t offset) {
  const std::optional<std::string_view> payload = chunk.payload(offset);
  if (!payload) return py::none();
  return py::bytes(payload->data(), payload->size());
}

py::object vector_object(const engine::Chunk& chunk, uint32_t offset) {
  const base::EpochGuard guard;
  const vector::Column* column = chunk.vectors();
  if (!column || !column->has(offset)) return passages_object(chunk, offset);
  py::array_t<float> out(static_cast<py::ssize_t>(column->options().dim));
  column->read(offset, {out.mutable_data(), static_cast<size_t>(out.size())});
  return out;
}

void register_result(py::module_& module) {
  auto type = export_class<Result>(
      module, "Result",
      R"(The result of one search of an Engine, best first; equal scores in order of partition, then of writing.

Arrays are made on access. Texts and payloads are as of the time of the search. Unpacks into `ids, scores`.)");
  Instances<Result>::remember(type);
  Instances<Result>::dispose_quickly();
  type.def_property_readonly(
          "ids", [](const Result& r) -> py::array { return ids(r); },
          "int64 (n,), or an object array of str.")
      .def_property_readonly(
          "scores", [](const Result& r) { return scores(r); },
          "float64 (n,): fused scores, BM25 or similarities, by mode.")
      .def_property_readonly(
          "texts", [](const Result& r) -> py::typing::List<py::str> { return texts(r); },
          "The texts, n of them.")
      .def_property_readonly(
          "mode", [](const Result& r) { return mode_name(r.found.mode); },
          "The arms that actually ran: 'hybrid', 'lexical', 'vector' or 'none'.")
      .def_property_readonly(
          "static_cosines", [](const Result& r) { return r.found.static_cosines; },
          "Whether the similarities are cosines to a vector made by the search's embedder.")
      .def_property_readonly(
          "nothing_embedded", [](const Result& r) { return r.found.nothing_embedded; },
          "Whether the search's embedder found no tokens in the text.")
      .def_property_readonly(
          "corrections",
          [](const Result& r) {
            py::list pairs;
            for (const engine::Correction& correction : r.found.corrections)
              pairs.append(py::make_tuple(correction.typed, correction.used));
            return pairs;
          },
          "Pairs (word as typed, known word that was searched instead), in the order of the text.")
      .def(
          "corrected",
          [](const Result& r, const py::object& text) {
            py::object keep;
            return engine::corrected(to_text(text, "text", keep), r.found.corrections);
          },
          py::arg("text"), "Returns the search text with the corrections applied.")
      .def_property_readonly(
          "lexical_ranks",
          [](const Result& r) { return to_array<int32_t>(r, [](const Hit& h) { return h.lexical_rank; }); },
          "int32 (n,): rank in the lexical ranking from 1; 0 for hits that are not in it.")
      .def_property_readonly(
          "vector_ranks",
          [](const Result& r) { return to_array<int32_t>(r, [](const Hit& h) { return h.vector_rank; }); },
          "int32 (n,): rank in the vector ranking from 1; 0 for hits that are not in it.")
      .def_property_readonly(
          "bm25", [](const Result& r) { return to_array<double>(r, [](const Hit& h) { return h.bm25; }); },
          "float64 (n,): BM25 scores; NaN if unknown (not in the lexical ranking) or, with explain, if no "
          "term matches.")
      .def_property_readonly(
          "similarities",
          [](const Result& r) { return to_array<float>(r, [](const Hit& h) { return h.similarity; }); },
          "float32 (n,): similarities; NaN if unknown (not in the vector ranking) or, with explain, if the "
          "hit has no vector.")
      .def_property_readonly(
          "coverage",
          [](const Result& r) { return to_array<double>(r, [](const Hit& h) { return h.coverage; }); },
          "float64 (n,): fraction of the distinct query terms that the hit contains; NaN without explain or "
          "without terms.")
      .def_property_readonly(
          "information",
          [](const Result& r) { return to_array<double>(r, [](const Hit& h) { return h.information; }); },
          "float64 (n,): fraction of `query_information` in the terms that the hit contains; NaN without "
          "explain or without terms.")
      .def_property_readonly(
          "query_information", [](const Result& r) { return r.found.information; },
          "Sum of the idf of the distinct query terms, in nats, without function words; NaN without explain.")
      .def_property_readonly(
          "identifiers",
          [](const Result& r) { return to_array<bool>(r, [](const Hit& h) { return h.identifier; }); },
          "bool (n,): whether a hit is in the identifier tier: it contains a rare identifier of the query "
          "verbatim.")
      .def_property_readonly(
          "another",
          [](const Result& r) { return to_array<bool>(r, [](const Hit& h) { return h.another; }); },
          "bool (n,): whether the question names identifiers with a digit and the hit contains none of them, "
          "so that it is probably about another one; False without explain.")
      .def_property_readonly(
          "lexical_share", [](const Result& r) { return r.found.lexical_share; },
          "Weight of the lexical scores in automatic fusion, 0 to 1; otherwise NaN.")
      .def_property_readonly(
          "similarity_spread",
          [](const Result& r) -> py::typing::Tuple<py::float_, py::float_> {
            return py::make_tuple(r.found.spread.mean, r.found.spread.deviation);
          },
          "Mean and standard deviation of the similarities between the search's vector and the visible "
          "documents (a sample of at most 512, evenly spread), ignoring filters; NaN without a vector, and "
          "unless the query requests it, or the search explains and has no `static_cosines`.")
      .def(
          "id",
          [](const Result& r, py::ssize_t i) -> py::typing::Union<py::int_, py::str> {
            const Hit& hit = hit_at(r, i);
            const base::EpochGuard guard;
            return from_id(r.found.chunk_of(hit).id(hit.offset));
          },
          py::arg("i"), "The id of hit i.")
      .def(
          "text",
          [](const Result& r, py::ssize_t i) {
            const Hit& hit = hit_at(r, i);
            const base::EpochGuard guard;
            return from_text(r.found.chunk_of(hit).text(hit.offset));
          },
          py::arg("i"), "The text of hit i.")
      .def(
          "payload",
          [](const Result& r, py::ssize_t i) -> py::typing::Optional<py::bytes> {
            const Hit& hit = hit_at(r, i);
            const base::EpochGuard guard;
            return payload_object(r.found.chunk_of(hit), hit.offset);
          },
          py::arg("i"), "The payload of hit i, bytes or None.")
      .def(
          "scope",
          [](const Result& r, py::ssize_t i) {
            return std::const_pointer_cast<engine::Scope>(r.found.chunk_of(hit_at(r, i)).scope());
          },
          py::arg("i"), "The exact scope of hit i.")
      .def(
          "vector",
          [](const Result& r, py::ssize_t i) -> VectorOrPassages {
            const Hit& hit = hit_at(r, i);
            return vector_object(r.found.chunk_of(hit), hit.offset);
          },
          py::arg("i"),
          "The vector of hit i as stored, float32 (dim,), or None; for a document with passages a pair, like "
          "Document.vector.")
      .def(
          "passage",
          [](const Result& r, py::ssize_t i) -> py::typing::Optional<py::typing::Tuple<py::int_, py::int_>> {
            const vector::PassageSpan passage = hit_at(r, i).passage;
            if (passage.end == 0) return py::none();
            return py::make_tuple(passage.start, passage.end);
          },
          py::arg("i"),
          "Position (start, end) in the text of hit i of its passage nearest to the search's vector; None "
          "without a vector or passages.")
      .def(
          "version",
          [](const Result& r, py::ssize_t i) {
            const Hit& hit = hit_at(r, i);
            return r.found.chunk_of(hit).write(hit.offset);
          },
          py::arg("i"), "The version of hit i: the write number of its last write.")
      .def(
          "matched_terms",
          [](const Result& r, py::ssize_t i) -> py::typing::List<py::str> {
            py::list terms;
            const Hit& hit = hit_at(r, i);
            if (r.found.matched.empty()) return terms;
            for (const uint32_t t : r.found.matched[static_cast<size_t>(&hit - r.found.hits.data())])
              terms.append(from_text(r.found.terms[t]));
            return terms;
          },
          py::arg("i"),
          "The distinct query terms that hit i contains, in query order; empty without explain.")
      .def(
          "parts",
          [](const Result& r, py::ssize_t i) -> py::typing::Dict<py::str, py::float_> {
            const Hit& hit = hit_at(r, i);
            py::dict out;
            if (r.found.parts.empty()) return out;
            const fusion::ScoreParts& parts = r.found.parts[static_cast<size_t>(&hit - r.found.hits.data())];
            out["words"] = parts.words;
            out["meaning"] = parts.meaning;
            out["rankings"] = parts.rankings;
            out["guarantee"] = parts.guarantee;
            out["dates"] = parts.dates;
            out["scaling"] = parts.scaling;
            out["coverage"] = parts.coverage;
            out["recency"] = parts.recency;
            out["entities"] = parts.entities;
            out["prior"] = parts.prior;
            out["identifier"] = parts.identifier;
            return out;
          },
          py::arg("i"),
          "The parts of the score of hit i, which is their sum (see scrubjay.ScoreParts); empty without "
          "explain.")
      .def_property_readonly(
          "admitted", [](const Result& r) { return r.found.n_admitted; },
          "Number of visible documents that the search's filter admits; without a filter, of all visible "
          "documents.")
      .def_property_readonly(
          "cursor", [](const Result& r) { return r.found.last_write; },
          "For a listing: the value of `after` for its next page; 0 if it is empty.")
      .def_property_readonly(
          "gathered",
          [](const Result& r) {
            py::list arms;
            if (r.found.lexical_gathered) arms.append("lexical");
            if (r.found.vector_work.gathered) arms.append("vector");
            return py::tuple(arms);
          },
          "The arms ('lexical', 'vector') that scored the matches of a selective filter one by one.")
      .def_property_readonly(
          "vector_work",
          [](const Result& r) -> py::typing::Dict<py::str, py::int_> {
            const engine::VectorWork& work = r.found.vector_work;
            py::dict looked_at;
            looked_at["codes"] = work.n_codes;
            looked_at["originals"] = work.n_originals;
            looked_at["in_graphs"] = work.n_in_graphs;
            looked_at["in_view"] = work.n_in_view;
            looked_at["graphs_given_up"] = work.n_given_up;
            return looked_at;
          },
          R"(Work of the vector arm, summed over all partitions: codes (or signs) and originals compared; in_graphs, the
vectors of the graphs searched instead; in_view, the ef of those searches; graphs_given_up, abandoned graph
searches, whose vectors were scanned instead.)")
      .def("__len__", [](const Result& r) { return r.found.hits.size(); })
      .def("__iter__", [](const Result& r) { return py::iter(unpacked(r)); })
      .def("__repr__", [](const Result& r) {
        std::string text = "Result(mode='" + std::string(mode_name(r.found.mode)) +
                           "', n=" + std::to_string(r.found.hits.size());
        const base::EpochGuard guard;
        if (!r.found.hits.empty())
          text += ", best=" + r.found.chunk_of(r.found.hits[0]).id(r.found.hits[0].offset).to_string();
        return text + ")";
      });
  auto* python_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  usual_iterator = python_type->tp_iter;
  python_type->tp_iter = iterator_of;
}

}  // namespace scrubjay::bindings
