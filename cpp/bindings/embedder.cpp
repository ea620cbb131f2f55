// A static embedder for Python: texts in, vectors out, without the GIL in between.
#include "embedder.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "classes.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "sequences.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using Floats = py::array_t<float>;
using MergeArray = py::array_t<uint32_t, py::array::c_style | py::array::forcecast>;

embed::TokenTable to_table(const py::array& array) {
  const bool half = array.dtype().kind() == 'f' && array.itemsize() == 2;
  const bool single = array.dtype().kind() == 'f' && array.itemsize() == 4;
  const int needed = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
  if (!(half || single) || array.ndim() != 2 || (array.flags() & needed) != needed ||
      array.dtype().byteorder() == '>') {  // big-endian
    throw py::type_error("table: expected a C-contiguous matrix of float16 or float32, got " +
                         quoted(array.dtype()) + " of shape " + quoted(array.attr("shape")));
  }
  embed::TokenTable table;
  if (half) {
    table.rows = static_cast<const uint16_t*>(array.data());
  } else {
    table.rows = static_cast<const float*>(array.data());
  }
  table.n_rows = static_cast<size_t>(array.shape(0));
  table.dim = static_cast<uint32_t>(std::min<py::ssize_t>(array.shape(1), UINT32_MAX));
  return table;
}

std::unique_ptr<StaticEmbedder> make_embedder(const py::array& table, const py::object& vocabulary,
                                              const MergeArray& merges, const py::object& added) {
  const embed::TokenTable rows = to_table(table);
  const py::tuple items = items_of(vocabulary, "vocabulary");
  std::vector<py::object> keep(items.size());
  std::vector<std::string_view> strings(items.size());
  for (size_t i = 0; i < items.size(); ++i) strings[i] = to_text(items[i], at("vocabulary", i), keep[i]);
  if (merges.ndim() != 2 || merges.shape(1) != 3)
    throw py::value_error("merges: expected shape (n, 3), got " + quoted(merges.attr("shape")));
  std::vector<embed::Merge> triples(static_cast<size_t>(merges.shape(0)));
  const uint32_t* from = merges.data();
  for (embed::Merge& merge : triples) {
    merge = {from[0], from[1], from[2]};
    from += 3;
  }
  std::vector<embed::AddedToken> contents;
  for (const auto& [content, id] : py::cast<std::vector<std::pair<std::string, uint32_t>>>(added))
    contents.push_back({content, id});
  std::optional<embed::StaticEmbedder> core;
  {
    const InterruptibleWithoutGil without_gil;
    core.emplace(embed::BytePairTokenizer(strings, triples, std::move(contents)), rows);
  }
  return std::make_unique<StaticEmbedder>(table, std::move(*core));  // refers to the table: needs the GIL
}

// The table is in the file, so there is no array: pybind11 makes an empty one.
std::unique_ptr<StaticEmbedder> read_embedder(const py::bytes& data) {
  const std::string_view bytes = data;
  std::optional<embed::StaticEmbedder> core;
  auto table = std::make_unique<embed::StaticTable>();
  {
    const InterruptibleWithoutGil without_gil;
    embed::read_static_table(bytes, *table);
    core.emplace(embed::WordPieceTokenizer(table->vocabulary),
                 embed::TokenTable{embed::ByteRows{table->rows.data(), table->factors.data()},
                                   table->vocabulary.size(), table->dim});
  }
  return std::make_unique<StaticEmbedder>(std::move(table), std::move(*core));
}

// The name in the file and eight digits of its checksum: another table under the same name is another model.
py::object model_name(const StaticEmbedder& embedder) {
  if (embedder.file == nullptr) return py::none();
  char digits[10];
  std::snprintf(digits, sizeof(digits), "-%08x",
                static_cast<unsigned>(embedder.file->checksum & 0xffffffffu));
  return py::str(embedder.file->name + digits);
}

Floats embed_texts(const StaticEmbedder& embedder, const py::object& texts) {
  const py::tuple items = items_of(texts, "texts");
  const size_t n = items.size(), dim = embedder.core.dim();
  std::vector<py::object> keep(n);
  std::vector<std::string_view> views(n);
  for (size_t i = 0; i < n; ++i) views[i] = to_text(items[i], at("texts", i), keep[i]);
  Floats vectors({n, dim});
  float* out = vectors.mutable_data();
  {
    const InterruptibleWithoutGil without_gil;
    for (size_t i = 0; i < n; ++i) {
      if (i % 64 == 63) base::interruption_point();
      (void)embedder.core.embed(views[i], {out + i * dim, dim});
    }
  }
  return vectors;
}

Floats embed_text(const StaticEmbedder& embedder, const py::object& text) {
  py::object keep;
  const std::string_view view = to_text(text, "text", keep);
  Floats vector(static_cast<py::ssize_t>(embedder.core.dim()));
  float* out = vector.mutable_data();
  const InterruptibleWithoutGil without_gil;
  (void)embedder.core.embed(view, {out, embedder.core.dim()});
  return vector;
}

constexpr const char* kEmbedderDoc =
    R"(Native static embedder: one row for each token, computed without the GIL, thread-safe.

The vector of a text is the sum of its tokens' rows, normalised to length 1. Tokens are those of byte pair
encoding as in the Llama family: U+2581 before the text and for every space, no other normalisation, bytes
for unknown characters. Pass one to `Engine.search(embedder=...)` to embed and search a text in one call.

Args:
    table: (n, dim) float16 or float32, C-contiguous; a row for each token. Read in place and kept, so it
        may be a mapped file; it must not change. dim is 16, 32, ... 4096.
    vocabulary: the tokens by id; contains `<0x00>` to `<0xFF>`.
    merges: (m, 3) ids (left, right, merged), best first.
    added: (text, id) of tokens that are found in the raw text, such as `("<s>", 1)`.

Raises:
    TypeError, ValueError: naming the argument, the expected and the given value.
)";

}  // namespace

void register_embedder(py::module_& module) {
  export_class<StaticEmbedder>(module, "StaticEmbedder", kEmbedderDoc)
      .def(py::init(&make_embedder), py::arg("table"), py::arg("vocabulary"), py::arg("merges"),
           py::arg("added") = py::tuple())
      .def_static("read", &read_embedder, py::arg("data"),
                  R"(Read the file of a static embedder, whose tokens are word pieces.

The rows are copied. The file's format is described at the top of `cpp/src/embed/static_table.hpp`.

Raises:
    CorruptIndexError: the bytes are not such a file, or they have been changed.
)")
      .def_property_readonly("name", &model_name,
                             "The name in the file and a part of its checksum; None if not read from a file.")
      .def_property_readonly(
          "dim", [](const StaticEmbedder& e) { return e.core.dim(); }, "Dimensions of the vectors.")
      .def("embed", &embed_texts, py::arg("texts"),
           "float32 (n, dim): unit vectors of n texts (str or bytes), zeros for a text without tokens.")
      .def("embed_query", &embed_text, py::arg("text"),
           "float32 (dim,): the unit vector of one text, zeros if it has no tokens.")
      .def(
          "tokenize",
          [](const StaticEmbedder& e, const py::object& text) {
            py::object keep;
            return e.core.tokenize(to_text(text, "text", keep));
          },
          py::arg("text"), "The ids of the tokens of a text.");
}

}  // namespace scrubjay::bindings
