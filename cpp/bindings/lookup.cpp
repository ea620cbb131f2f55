// Engine methods that the retrieval pipeline asks for: generation and find_substring.
#include "bindings.hpp"
#include "convert.hpp"
#include "engine/engine.hpp"
#include "result.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {

void register_lookup(py::class_<engine::Engine>& type) {
  type.def(
          "generation",
          [](const engine::Engine& engine, const py::object& scope) {
            const ScopePtr checked = to_scope(scope, "scope");
            return engine.generation(*checked);
          },
          py::arg("scope"),
          "A number that changes with every write that a search from `scope` could notice. Equal numbers: "
          "nothing "
          "was written in between (up to a collision of 64 bits).")
      .def(
          "find_substring",
          [](const engine::Engine& engine, const py::object& text, const py::object& scope,
             const py::object& k) {
            py::object keep;
            const std::string_view part = to_text(text, "text", keep);
            const ScopePtr checked = to_scope(scope, "scope");
            const size_t n = to_count(k, "k", 1);
            const py::gil_scoped_release release;
            return Result{engine.find_substring(part, *checked, n), engine.id_kind()};
          },
          py::arg("text"), py::kw_only(), py::arg("scope"), py::arg("k") = 10,
          R"(The visible documents whose text contains `text` (ASCII letters in either case), by looking at each.

The last resort of a search. Mode 'substring'; the score is the share of the text that is `text`, so short documents
come first; ties as in search(). ValueError: an empty text.)");
}

}  // namespace scrubjay::bindings
