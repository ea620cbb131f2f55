#include "engine/scope.hpp"

#include <pybind11/typing.h>
#include <structmember.h>

#include <cstddef>

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

// Scope(...) without pybind11's dispatcher, since many searches make their own scope. Unusual calls and
// errors use the usual way; only the inspection of the components is repeated.
class QuickScope {
 public:
  // pybind11's metaclass calls its classes with tuples and dicts only; this metaclass, used by Scope alone,
  // first checks whether a class has a vectorcall function.
  [[nodiscard]] static py::object metaclass() {
    PyTypeObject* usual = py::detail::get_internals().default_metaclass;
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyTypeObject, tp_vectorcall), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    PyType_Slot slots[] = {{Py_tp_base, usual},
                           {Py_tp_call, reinterpret_cast<void*>(usual->tp_call)},
                           {Py_tp_members, members},
                           {0, nullptr}};
    PyType_Spec specification = {"scrubjay._native.ScopeType", 0, 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
    auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&specification));
    if (!type) throw py::error_already_set();
    return type;
  }
  static void install(py::handle type) {
    type_ = reinterpret_cast<PyTypeObject*>(type.ptr());
    constexpr const char* kNames[] = {"tenant", "user", "agent"};
    for (size_t i = 0; i < 3; ++i) names_[i] = PyUnicode_InternFromString(kNames[i]);
    type_->tp_vectorcall = &construct;
  }

 private:
  static PyObject* construct(PyObject* type, PyObject* const* arguments, size_t n, PyObject* keywords) {
    const auto n_positional = static_cast<size_t>(PyVectorcall_NARGS(n));
    PyObject* given[3] = {Py_None, Py_None, Py_None};
    if (reinterpret_cast<PyTypeObject*>(type) == type_ && read(arguments, n_positional, keywords, given)) {
      try {
        return Instances<Scope>::construct(make_scope(given[0], given[1], given[2])).release().ptr();
      } catch (...) {
        PyErr_Clear();  // the usual way reports the error
      }
    }
    if (!names_known(type, n_positional, keywords)) return nullptr;
    return construct_slowly(type, arguments, n_positional, keywords);
  }
  // pybind11's message for a wrong call only lists the valid signatures. Returns false with an error set that
  // names the argument. A subclass may have its own __init__.
  static bool names_known(PyObject* type, size_t n_positional, PyObject* keywords) noexcept {
    if (reinterpret_cast<PyTypeObject*>(type) != type_) return true;
    const size_t n_keywords = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
    if (n_positional > 3) {
      PyErr_Format(PyExc_TypeError, "Scope: expected tenant, user, agent, got %zu positional arguments",
                   n_positional);
      return false;
    }
    bool has_tenant = n_positional > 0;
    for (size_t i = 0; i < n_keywords; ++i) {
      PyObject* name = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i));
      size_t parameter = 0;
      while (parameter < 3 && PyUnicode_Compare(names_[parameter], name) != 0) ++parameter;
      if (parameter == 3) {
        PyErr_Format(PyExc_TypeError, "%U: unknown argument of Scope, expected tenant, user, agent", name);
        return false;
      }
      if (parameter < n_positional) {
        PyErr_Format(PyExc_TypeError, "%U: expected once, it was given by position and by name", name);
        return false;
      }
      has_tenant = has_tenant || parameter == 0;
    }
    if (!has_tenant) PyErr_SetString(PyExc_TypeError, "tenant: expected a str, it is missing");
    return has_tenant;
  }
  // Returns false for an unusual call.
  static bool read(PyObject* const* arguments, size_t n_positional, PyObject* keywords,
                   PyObject* (&given)[3]) noexcept {
    const size_t n_keywords = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
    if (n_positional + n_keywords > 3) return false;
    for (size_t i = 0; i < n_positional; ++i) given[i] = arguments[i];
    for (size_t i = 0; i < n_keywords; ++i) {
      const PyObject* name = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i));
      size_t parameter = n_positional;
      while (parameter < 3 && names_[parameter] != name) ++parameter;
      if (parameter == 3) return false;
      given[parameter] = arguments[n_positional + i];
    }
    return PyUnicode_Check(given[0]) != 0;
  }
  static PyObject* construct_slowly(PyObject* type, PyObject* const* arguments, size_t n_positional,
                                    PyObject* keywords) {
    try {
      py::tuple positional(n_positional);
      for (size_t i = 0; i < n_positional; ++i)
        positional[i] = py::reinterpret_borrow<py::object>(arguments[i]);
      py::dict named;
      const size_t n_keywords = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
      for (size_t i = 0; i < n_keywords; ++i)
        named[PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i))] =
            py::reinterpret_borrow<py::object>(arguments[n_positional + i]);
      return Py_TYPE(type)->tp_call(type, positional.ptr(), named.ptr());
    } catch (py::error_already_set& error) {
      error.restore();
      return nullptr;
    }
  }

  static inline PyTypeObject* type_ = nullptr;
  static inline PyObject* names_[3] = {};
};

Py_hash_t hash_of(const Scope& scope) noexcept { return static_cast<Py_hash_t>(scope.hash() >> 1); }

// hash(scope) and scope == other without a lookup of the method and pybind11's dispatcher, which take eight times
// as long: scopes are the keys of most tables of an index. A subclass in Python has the slots that Python makes.
class QuickKey {
 public:
  static void install(py::handle type) {
    auto* const slots = reinterpret_cast<PyTypeObject*>(type.ptr());
    usual_hash_ = slots->tp_hash;
    usual_compare_ = slots->tp_richcompare;
    slots->tp_hash = [](PyObject* self) -> Py_hash_t {
      const Scope* scope = Instances<Scope>::behind(self);
      return scope ? hash_of(*scope) : usual_hash_(self);
    };
    slots->tp_richcompare = [](PyObject* self, PyObject* other, int operation) -> PyObject* {
      const Scope *a = Instances<Scope>::behind(self), *b = Instances<Scope>::behind(other);
      if (!a || !b || (operation != Py_EQ && operation != Py_NE))
        return usual_compare_(self, other, operation);
      return PyBool_FromLong((*a == *b) == (operation == Py_EQ));
    };
  }

 private:
  static inline hashfunc usual_hash_ = nullptr;
  static inline richcmpfunc usual_compare_ = nullptr;
};

std::string repr_scope(const Scope& scope) {
  std::string text = "Scope(" + py::cast<std::string>(py::repr(from_text(scope.tenant())));
  if (scope.user()) text += ", user=" + py::cast<std::string>(py::repr(from_text(*scope.user())));
  if (scope.agent()) text += ", agent=" + py::cast<std::string>(py::repr(from_text(*scope.agent())));
  return text + ")";
}

}  // namespace

void register_scope(py::module_& module) {
  auto type = export_class<Scope, std::shared_ptr<Scope>>(
      module, "Scope", R"(The owner of a memory: a tenant, and optionally a user and an agent of the tenant.

A missing user or agent means "shared by all users / agents of the tenant". A search from a scope sees its
own memories and those shared with it: (tenant), (tenant, user), (tenant, agent) and (tenant, user, agent),
as far as the components are given, and nothing else. Immutable, hashable, comparable, picklable.

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
)",
      py::metaclass(QuickScope::metaclass().release().ptr()));
  Instances<Scope>::remember(type);
  QuickScope::install(type);
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
      .def("contains", &Scope::contains, py::arg("other"),
           "Whether `other` equals this scope in every component that this scope names: erase(self) would "
           "remove it.")
      .def("visible", &visible,
           R"(The exact scopes that a search from this scope sees, in the order in which equal scores rank.

The order is (tenant), (tenant, user), (tenant, agent), (tenant, user, agent), as far as the components are
given. A lookup of one id returns the most specific document: (tenant, user, agent), (tenant, user),
(tenant, agent), (tenant).

>>> from scrubjay import Scope
>>> Scope("acme", user="jane").visible()
[Scope('acme'), Scope('acme', user='jane')])")
      .def("__repr__", &repr_scope)
      .def("__hash__", &hash_of)
      .def("__eq__",
           [](const Scope& a, py::handle b) -> py::object {
             if (!py::isinstance<Scope>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             return py::bool_(a == py::cast<const Scope&>(b));
           })
      .def(
          "__lt__",
          [](const Scope& a, py::handle other) -> py::object {
            if (!py::isinstance<Scope>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            const auto key = [](const Scope& s) { return std::tuple(s.tenant(), s.user(), s.agent()); };
            return py::bool_(key(a) < key(py::cast<const Scope&>(other)));
          },
          py::arg("other"), "By tenant, then user, then agent; None comes first.")
      .def("__reduce__", [](const py::object& self) {  // there is no state to set on a Scope in use
        const Scope& scope = py::cast<const Scope&>(self);
        return py::make_tuple(py::type::of(self),
                              py::make_tuple(from_text(scope.tenant()), from_component(scope.user()),
                                             from_component(scope.agent())));
      });
  QuickKey::install(type);
}

}  // namespace scrubjay::bindings
