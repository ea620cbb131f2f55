// Partitions as images: the engine methods with which the Python store keeps it consistent with its rows.
#include <pybind11/stl.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "base/memory.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/stored_image.hpp"
#include "gil.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Engine;

py::list save_partition(const Engine& engine, const py::object& scope) {
  const ScopePtr saved = to_scope(scope, "scope");
  std::vector<std::string> images;
  {
    const InterruptibleWithoutGil without_gil;
    images = engine.save_partition(*saved);
  }
  py::list out;
  for (std::string& image : images) {
    // An image may have many megabytes: other threads run while it is copied.
    auto bytes = py::reinterpret_steal<py::bytes>(
        PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(image.size())));
    if (!bytes) throw py::error_already_set();
    char* const to = PyBytes_AS_STRING(bytes.ptr());
    {
      const WithoutGil without_gil;
      std::copy(image.begin(), image.end(), to);
      std::string().swap(image);
    }
    out.append(std::move(bytes));
  }
  return out;
}

// Iterates over the pieces of images: Python code, which may read a file.
size_t load_pieces(Engine& engine, const ScopePtr& scope, const py::tuple& images) {
  std::vector<engine::ArrivingImage> arriving;
  for (const py::handle image : images) {
    if (!PyObject_HasAttrString(image.ptr(), "__len__") || !PyObject_HasAttrString(image.ptr(), "__iter__"))
      throw py::type_error("images: expected bytes or pieces of bytes, got " + type_name(image));
    in_python([&] {
      arriving.push_back(engine.arriving_image(scope, py::len(image)));
      for (const py::handle piece : py::iter(image)) {
        if (!PyBytes_Check(piece.ptr()))
          throw py::type_error("images: expected pieces of bytes, got " + type_name(piece));
        arriving.back().add(
            {PyBytes_AS_STRING(piece.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(piece.ptr()))});
      }
    });
  }
  const InterruptibleWithoutGil without_gil;
  return engine.load_partition(scope, arriving);
}

size_t load_partition(Engine& engine, const py::object& scope, const py::list& images) {
  const ScopePtr loaded = to_scope(scope, "scope");
  const py::tuple given(images);  // the caller may change the list
  for (const py::handle image : given)
    if (!PyObject_CheckBuffer(image.ptr())) return load_pieces(engine, loaded, given);
  std::vector<py::buffer_info> buffers;  // own the viewed memory
  std::deque<std::string> copies;        // for buffers that another thread could change
  std::vector<std::string_view> views;
  for (const py::handle image : given) {
    buffers.push_back(py::reinterpret_borrow<py::buffer>(image).request());
    const py::buffer_info& buffer = buffers.back();
    if (buffer.ndim != 1 || buffer.itemsize != 1 || buffer.strides[0] != 1)
      throw py::type_error("images: expected contiguous buffers of bytes");
    views.emplace_back(static_cast<const char*>(buffer.ptr), static_cast<size_t>(buffer.size));
    if (!buffer.readonly) views.back() = copies.emplace_back(views.back());
  }
  const InterruptibleWithoutGil without_gil;
  return engine.load_partition(loaded, views);
}

using Stored = std::tuple<int, uint32_t, std::vector<std::pair<int64_t, uint64_t>>, py::bytes, py::bytes>;

size_t load_stored_partition(Engine& engine, const py::object& scope, const std::vector<Stored>& images) {
  const ScopePtr loaded = to_scope(scope, "scope");
  std::vector<engine::StoredImage> stored;
  for (const auto& [descriptor, root, rows, first, end] : images) {
    engine::StoredImage& image = stored.emplace_back();
    image.descriptor = descriptor;
    image.root = root;
    for (const auto& [number, n_bytes] : rows) image.rows.push_back({number, n_bytes});
    image.first = first;
    image.end = end;
  }
  const InterruptibleWithoutGil without_gil;
  std::vector<engine::ArrivingImage> arriving;
  for (const engine::StoredImage& image : stored) {
    arriving.push_back(engine.arriving_image(loaded, image.n_bytes()));
    engine::read_stored_image(image, arriving.back());
  }
  return engine.load_partition(loaded, arriving);
}

const char* graph_state(const Engine& engine, const py::object& scope) {
  const ScopePtr wanted = to_scope(scope, "scope");
  switch (engine.graph_state(*wanted)) {
    case engine::GraphState::built:
      return "built";
    case engine::GraphState::growing:
      return "growing";
    case engine::GraphState::coming:
      return "coming";
    case engine::GraphState::none:
      break;
  }
  return "none";
}

py::dict digest(const Engine& engine, const py::object& scope) {
  const ScopePtr wanted = to_scope(scope, "scope");
  engine::Digest d;
  {
    const InterruptibleWithoutGil without_gil;
    d = engine.digest(*wanted);
  }
  py::dict out;
  out["n_documents"] = d.n_docs;
  out["n_postings"] = d.n_postings;
  out["n_vectors"] = d.n_vectors;
  out["total_length"] = d.total_length;
  out["documents"] = d.documents;
  out["postings"] = d.postings;
  out["vectors"] = d.vectors;
  out["miscounted"] = d.n_miscounted;
  return out;
}

}  // namespace

void register_residence(EngineClass& type) {
  type.def(
          "save_partition", &save_partition, py::arg("scope"),
          R"(Returns the images of the partition of exactly this scope: one bytes object per chunk, of live documents
only.

Returns [] if the scope has no partition. If the partition has a graph, its image comes last
(is_graph_image()).)")
      .def("load_partition", &load_partition, py::arg("scope"), py::arg("images"),
           R"(Loads images from save_partition() as the partition of `scope`.

Either all images are bytes or other buffers, or all are iterables of their bytes in pieces, with a length
that is not less than the number of bytes. Each piece is copied to its place at once, and not kept.
Returns the number of documents.

Raises: CorruptIndexError if the bytes are not valid images for an engine with these options, ValueError if
the engine has documents of exactly this scope; nothing is changed then. A graph that is damaged or belongs
to other images is not an error: it is ignored (see graph_state()) and built again.)")
      .def("load_stored_partition", &load_stored_partition, py::arg("scope"), py::arg("images"),
           R"(The same for images that are BLOBs in the last column of a table of an SQLite file.

Each is a tuple: descriptor of the file, page of the table's root, its rows in order, each as (number, number of
bytes), the first 80 bytes or more as SQLite reads them, and the last bytes, which do not belong to the image. The
pages are read beside SQLite, without its log.

Raises: CorruptIndexError if the file does not have exactly this image there; nothing is changed then.)")
      .def_static(
          "is_graph_image",
          [](const py::bytes& image) { return engine::is_graph_image(std::string_view(image)); },
          py::arg("image"), "Whether this is the image of a graph, not of documents.")
      .def("graph_state", &graph_state, py::arg("scope"),
           R"(State of the graph of exactly this scope's partition.

'built': up to date. 'growing': extension by newer documents pending or running. 'coming': build pending or
running. 'none': no graph.)")
      .def(
          "partition_bytes",
          [](const Engine& e, const py::object& scope) {
            const ScopePtr wanted = to_scope(scope, "scope");
            const WithoutGil without_gil;
            return e.partition_bytes(*wanted);
          },
          py::arg("scope"),
          "The memory of the partition of exactly this scope, including its share of the id map.")
      .def_static("release_free_memory", &base::release_free_memory, py::call_guard<WithoutGil>(),
                  "Returns freed memory of this process to the system, if the C library supports it.")
      .def("digest", &digest, py::arg("scope"),
           R"(Counts and order-sensitive hashes of the content of exactly this scope's partition.

Equal for equal documents in equal order, regardless of earlier deletions. `miscounted` is 0 unless a
counter disagrees with its list.)");
}

}  // namespace scrubjay::bindings
