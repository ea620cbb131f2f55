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
  std::vector<engine::ScopeRef> scopes;
  {
    const WithoutGil without_gil;
    scopes = engine.scopes(agreeing.get());
  }
  py::list out;
  for (const engine::ScopeRef& scope : scopes) out.append(std::const_pointer_cast<engine::Scope>(scope));
  return out;
}

}  // namespace

void register_lookup(EngineClass& type) {
  type.def("scroll", &list_documents, py::arg("scope"), py::kw_only(), py::arg("filter") = py::none(),
           py::arg("ids") = py::none(), py::arg("exclude") = py::none(), py::arg("exact") = false,
           py::arg("newest") = true, py::arg("after") = 0, py::arg("skip") = 0, py::arg("limit") = py::none(),
           R"(The documents visible from `scope`, unranked, in the order of their last writes.

Args:
    filter, ids, exclude: as for search().
    exact: only documents of exactly this scope.
    newest: last written first; otherwise first written first.
    after: the `cursor` of an earlier result: continue after its last document. Documents that are written
        again meanwhile move to the end of the order.
    skip, limit: number of documents to skip, and the maximum number to return; None: all.

Cost is proportional to what it skips and returns, with a filter to what the scope holds. Each exact scope
is read at one point in time.

>>> from scrubjay import Engine, Scope
>>> engine = Engine()
>>> engine.upsert_many([1, 2, 3], ["one", "two", "three"], scope=Scope("acme"))
3
>>> page = engine.scroll(Scope("acme"), limit=2)
>>> page.ids.tolist(), engine.scroll(Scope("acme"), after=page.cursor).ids.tolist()
([3, 2], [1])
)")
      .def("scopes", &scopes, py::arg("within") = py::none(),
           "The exact scopes that hold documents, or those of them within the scope `within`; in no order.")
      .def(
          "generation",
          [](const engine::Engine& engine, const py::object& scope) {
            const ScopePtr checked = to_scope(scope, "scope");
            return engine.generation(*checked);
          },
          py::arg("scope"),
          "A number that changes with every write that could affect a search from `scope`. Equal numbers "
          "mean "
          "that there was no such write (up to a collision of 64 bits).")
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
          R"(The visible documents whose text contains `text` (ignoring the case of ASCII letters), by scanning them.

The last fallback of a search. Mode 'substring'; the score is the fraction of the document that `text` makes
up, so short documents come first; ties as in search(). Raises ValueError for an empty text.)");
}

}  // namespace scrubjay::bindings
