// Engine methods for the retrieval pipeline: scroll, scopes, generation and find_substring.
#include "bindings.hpp"
#include "convert.hpp"
#include "engine/engine.hpp"
#include "filter.hpp"
#include "gil.hpp"
#include "result.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

Result list_documents(const engine::Engine& engine, const py::object& scope, const py::object& filter,
                      const py::object& ids, const py::object& exclude, bool exact, bool newest,
                      const py::object& after, const py::object& skip, const py::object& limit) {
  engine::ListRequest request;
  request.scope = &as_scope(scope, "scope");
  const FilterArguments admitted(filter, ids, exclude);
  request.filter = admitted.view();
  request.exact = exact;
  request.newest = newest;
  request.after = to_count(after, "after", 0);
  request.skip = to_count(skip, "skip", 0);
  if (!limit.is_none()) request.limit = to_count(limit, "limit", 0);
  const InterruptibleWithoutGil without_gil;
  return {engine.list(request), engine.id_kind()};
}

py::typing::List<engine::Scope> scopes(const engine::Engine& engine, const py::object& within) {
  const ScopePtr agreeing = within.is_none() ? nullptr : to_scope(within, "within");
  std::vector<engine::ScopeRef> found;
  {
    const WithoutGil without_gil;
    found = engine.scopes(agreeing.get());
  }
  py::list out;
  for (const engine::ScopeRef& scope : found) out.append(std::const_pointer_cast<engine::Scope>(scope));
  return out;
}

}  // namespace

void register_lookup(EngineClass& type) {
  type.def(
          "scroll", &list_documents, py::arg("scope"), py::kw_only(), py::arg("filter") = py::none(),
          py::arg("ids") = py::none(), py::arg("exclude") = py::none(), py::arg("exact") = false,
          py::arg("newest") = true, py::arg("after") = 0, py::arg("skip") = 0, py::arg("limit") = py::none(),
          R"(The documents that a search from `scope` sees, without ranking them, in the order of their last writes.

Args:
    filter, ids, exclude: as for search().
    exact: only those of exactly this scope.
    newest: the last written first; otherwise the first written.
    after: a `cursor` of an earlier result: what comes behind its last document. Documents that are written anew meanwhile
        move to the end of the order.
    skip, limit: how many to leave out, and how many at most; None: all.

Costs what it skips and returns, with a filter what the scope holds. One moment of each exact scope.

>>> from scrubjay import Engine, Scope
>>> engine = Engine()
>>> engine.upsert_many([1, 2, 3], ["one", "two", "three"], scope=Scope("acme"))
3
>>> page = engine.scroll(Scope("acme"), limit=2)
>>> page.ids.tolist(), engine.scroll(Scope("acme"), after=page.cursor).ids.tolist()
([3, 2], [1])
)")
      .def("scopes", &scopes, py::arg("within") = py::none(),
           "The exact scopes that hold documents, or those of them that agree with `within`; in no order.")
      .def(
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
            const InterruptibleWithoutGil without_gil;
            return Result{engine.find_substring(part, *checked, n), engine.id_kind()};
          },
          py::arg("text"), py::kw_only(), py::arg("scope"), py::arg("k") = 10,
          R"(The visible documents whose text contains `text` (ASCII letters in either case), by looking at each.

The last resort of a search. Mode 'substring'; the score is the share of the text that is `text`, so short documents
come first; ties as in search(). ValueError: an empty text.)");
}

}  // namespace scrubjay::bindings
