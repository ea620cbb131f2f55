// Partitions as images: the engine methods with which the Python store keeps it consistent with its rows.
#include <pybind11/stl.h>

#include <deque>

#include "base/memory.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
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
  for (const std::string& image : images) out.append(py::bytes(image));
  return out;
}

size_t load_partition(Engine& engine, const py::object& scope, const py::list& images) {
  const ScopePtr loaded = to_scope(scope, "scope");
  std::vector<py::buffer_info> buffers;  // own the viewed memory
  std::deque<std::string> copies;        // for buffers that another thread could change
  std::vector<std::string_view> views;
  for (const py::handle image : images) {
    if (!PyObject_CheckBuffer(image.ptr()))
      throw py::type_error("images: expected bytes, got " + type_name(image));
    buffers.push_back(py::reinterpret_borrow<py::buffer>(image).request());
    const py::buffer_info& buffer = buffers.back();
    if (buffer.ndim != 1 || buffer.itemsize != 1 || buffer.strides[0] != 1)
      throw py::type_error("images: expected bytes one behind the other");
    views.emplace_back(static_cast<const char*>(buffer.ptr), static_cast<size_t>(buffer.size));
    if (!buffer.readonly) views.back() = copies.emplace_back(views.back());
  }
  const InterruptibleWithoutGil without_gil;
  return engine.load_partition(loaded, views);
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
          R"(The images of the partition of exactly this scope: one bytes object a chunk, of its live documents only; [] if it has none. If
the partition has a graph, its image comes last (is_graph_image()).)")
      .def(
          "load_partition", &load_partition, py::arg("scope"), py::arg("images"),
          R"(Takes the documents of save_partition()'s images (bytes, or other buffers of bytes) as the partition of `scope`; returns how many.

Raises: CorruptIndexError if the bytes cannot be what was written for an engine like this one, ValueError if the engine has
documents of exactly this scope; nothing is changed then. A graph that is damaged, or belongs to other images, is no error: it is
left aside (graph_state() tells), and built again.)")
      .def_static(
          "is_graph_image",
          [](const py::bytes& image) { return engine::is_graph_image(std::string_view(image)); },
          py::arg("image"), "Whether this is the image of a graph, and not of documents.")
      .def(
          "graph_state", &graph_state, py::arg("scope"),
          R"(Of the partition of exactly this scope: 'built' if it has a graph, 'growing' if upkeep is due or under way that takes into it
what was written beside it, 'coming' while upkeep is due or under way that may build one, 'none' otherwise.)")
      .def(
          "partition_bytes",
          [](const Engine& e, const py::object& scope) {
            const ScopePtr wanted = to_scope(scope, "scope");
            const WithoutGil without_gil;
            return e.partition_bytes(*wanted);
          },
          py::arg("scope"),
          "The memory of the partition of exactly this scope, its share of the id map included.")
      .def_static("release_free_memory", &base::release_free_memory, py::call_guard<WithoutGil>(),
                  "Gives memory that was freed in this process back to the system, where the C library can.")
      .def(
          "digest", &digest, py::arg("scope"),
          R"(Counts and order-sensitive hashes of what the partition of exactly this scope holds: equal for equal documents in equal
order, whatever was deleted before. `miscounted` is 0 unless a counter disagrees with its list.)");
}

}  // namespace scrubjay::bindings
