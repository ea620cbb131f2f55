#include "engine/scope.hpp"

#include <pybind11/typing.h>

#include "bindings.hpp"
#include "classes.hpp"
#include "convert.hpp"
#include "instances.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Scope;

std::optional<std::string_view> to_component(py::handle value, const char* name) {
  if (value.is_none() && std::string_view(name) != "tenant") return std::nullopt;
  if (!PyUnicode_Check(value.ptr())) {
    throw py::type_error(std::string(name) + ": expected a str, got " + type_name(value) + " " +
                         quoted(value));
  }
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (!bytes) {
    PyErr_Clear();
    throw py::value_error(std::string(name) + ": expected text that UTF-8 can encode, got " + quoted(value) +
                          " with a lone surrogate");
  }
  return std::string_view(bytes, static_cast<size_t>(size));
}

std::shared_ptr<Scope> make_scope(py::handle tenant, py::handle user, py::handle agent) {
  return std::make_shared<Scope>(*to_component(tenant, "tenant"), to_component(user, "user"),
                                 to_component(agent, "agent"));
}

py::object from_component(const std::optional<std::string_view>& component) {
  if (!component) return py::none();
  return from_text(*component);
}

py::typing::List<Scope> visible(const Scope& scope) {
  py::list scopes;
  const auto add = [&](const auto& user, const auto& agent) {
    scopes.append(std::make_shared<Scope>(scope.tenant(), user, agent));
  };
  const std::optional<std::string_view> none, user = scope.user(), agent = scope.agent();
  add(none, none);
  if (user) add(user, none);
  if (agent) add(none, agent);
  if (user && agent) add(user, agent);
  return scopes;
}

std::string repr_scope(const Scope& scope) {
  std::string text = "Scope(" + py::cast<std::string>(py::repr(from_text(scope.tenant())));
  if (scope.user()) text += ", user=" + py::cast<std::string>(py::repr(from_text(*scope.user())));
  if (scope.agent()) text += ", agent=" + py::cast<std::string>(py::repr(from_text(*scope.agent())));
  return text + ")";
}

}  // namespace

void register_scope(py::module_& module) {
  auto type = export_class<Scope, std::shared_ptr<Scope>>(
      module, "Scope", R"(Whose memory this is: a tenant, and optionally a user and an agent of it.

A missing user or agent means "shared by all users / agents of the tenant". A search from a scope sees its own memories
and those shared with it: (tenant), (tenant, user), (tenant, agent) and (tenant, user, agent), as far as the components
are given, and nothing else. Immutable, hashable, comparable, picklable.

Args:
    tenant: a non-empty str.
    user: a non-empty str or None.
    agent: a non-empty str or None.

Raises:
    TypeError: a component is not a str.
    ValueError: a component is empty, over 65,535 bytes, or cannot be encoded as UTF-8.

>>> from scrubjay import Scope
>>> Scope("acme", user="jane")
Scope('acme', user='jane')
>>> Scope("acme", user="jane") == Scope("acme", "jane")
True
>>> Scope("acme").contains(Scope("acme", user="jane"))
True
)");
  Instances<Scope>::remember(type);
  type.def(py::init([](py::object tenant, py::object user, py::object agent) {
             return make_scope(tenant, user, agent);
           }),
           py::arg("tenant"), py::arg("user") = py::none(), py::arg("agent") = py::none())
      .def_property_readonly(
          "tenant", [](const Scope& scope) { return from_text(scope.tenant()); }, "The tenant, a str.")
      .def_property_readonly(
          "user",
          [](const Scope& scope) -> py::typing::Optional<py::str> { return from_component(scope.user()); },
          "The user, or None.")
      .def_property_readonly(
          "agent",
          [](const Scope& scope) -> py::typing::Optional<py::str> { return from_component(scope.agent()); },
          "The agent, or None.")
      .def(
          "contains", &Scope::contains, py::arg("other"),
          "Whether `other` agrees with every component that this scope names: what erase(self) would remove.")
      .def(
          "visible", &visible,
          R"(The exact scopes that a search from here sees, in the order in which equal scores rank: (tenant), (tenant, user),
(tenant, agent), (tenant, user, agent), as far as the components are given. A reader of one id gets the most specific:
(tenant, user, agent), (tenant, user), (tenant, agent), (tenant).

>>> from scrubjay import Scope
>>> Scope("acme", user="jane").visible()
[Scope('acme'), Scope('acme', user='jane')])")
      .def("__repr__", &repr_scope)
      .def("__hash__", [](const Scope& scope) { return static_cast<Py_hash_t>(scope.hash() >> 1); })
      .def("__eq__",
           [](const Scope& a, py::handle b) -> py::object {
             if (!py::isinstance<Scope>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             return py::bool_(a == py::cast<const Scope&>(b));
           })
      .def(
          "__lt__",
          [](const Scope& a, const Scope& b) {
            const auto key = [](const Scope& s) { return std::tuple(s.tenant(), s.user(), s.agent()); };
            return key(a) < key(b);
          },
          py::arg("other"), "By tenant, then user, then agent; None comes first.")
      .def("__reduce__", [](const py::object& self) {  // no state that a Scope in use could be given
        const Scope& scope = py::cast<const Scope&>(self);
        return py::make_tuple(py::type::of(self),
                              py::make_tuple(from_text(scope.tenant()), from_component(scope.user()),
                                             from_component(scope.agent())));
      });
}

}  // namespace scrubjay::bindings
