#include "sequences.hpp"

#include "engine/visible_together.hpp"
#include "gil.hpp"
#include "instances.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {

py::tuple items_of(const py::object& values, const char* name) {
  if (!may_hold_values(values)) {
    throw py::type_error(std::string(name) + ": expected a sequence, got " + type_name(values));
  }
  PyObject* items = in_python([&] { return PySequence_Tuple(values.ptr()); });
  if (!items) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    throw py::type_error(std::string(name) + ": expected a sequence, got " + type_name(values));
  }
  return py::reinterpret_steal<py::tuple>(items);
}

bool may_hold_values(py::handle value) {
  PyObject* object = value.ptr();
  if (PyList_Check(object) || PyTuple_Check(object) || PyAnySet_Check(object)) return true;
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) ||
      PyMemoryView_Check(object) || PyDict_Check(object))
    return false;
  if (py::hasattr(value, "columns")) return false;  // of a table; its items would be the names of columns
  return !py::hasattr(value, "keys") ||
         !py::isinstance(value, py::module_::import("collections.abc").attr("Mapping"));
}

void check_length(const py::tuple& items, const char* name, size_t expected) {
  if (items.size() != expected) {
    throw py::value_error(std::string(name) + ": expected " + std::to_string(expected) +
                          " items like ids, got " + std::to_string(items.size()));
  }
}

std::string at(const char* name, size_t i) { return std::string(name) + "[" + std::to_string(i) + "]"; }

Vectors::Vectors(const py::object& value, const char* name, size_t expected) {
  if (value.is_none()) return;
  if (py::isinstance<py::array>(value)) {
    if (py::array array = py::reinterpret_borrow<py::array>(value); array.dtype().kind() != 'O') {
      if (array.ndim() == 2 && static_cast<size_t>(array.shape(0)) != expected) {
        throw py::value_error(std::string(name) + ": expected " + std::to_string(expected) +
                              " rows like ids, got " + std::to_string(array.shape(0)));
      }
      if (expected == 0) return;
      matrix = to_matrix(value, name);
      return;
    }
  }
  const py::tuple items = items_of(value, name);
  check_length(items, name, expected);
  rows.resize(expected);
  for (size_t i = 0; i < expected; ++i) {
    if (!items[i].is_none()) rows[i] = DocumentVectors(items[i], at(name, i));
  }
}

std::span<const float> Vectors::row(size_t i) const {
  if (!rows.empty()) return as_span(rows[i].floats);
  if (matrix.ndim() != 2) return {};
  return {matrix.data() + i * static_cast<size_t>(matrix.shape(1)), static_cast<size_t>(matrix.shape(1))};
}

std::span<const vector::PassageSpan> Vectors::passages(size_t i) const {
  if (rows.empty()) return {};
  return rows[i].passages;
}

SeveralScopes::SeveralScopes(const py::object& values) : items_(items_of(values, "scope")) {
  if (items_.size() == 0) throw py::value_error("scope: expected at least one scrubjay.Scope, got none");
  std::vector<const engine::Scope*> scopes(items_.size());
  for (size_t i = 0; i < scopes.size(); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(items_.ptr(), static_cast<Py_ssize_t>(i));
    scopes[i] = Instances<engine::Scope>::behind(item);
    if (!scopes[i]) scopes[i] = &as_scope(item, at("scope", i).c_str());
  }
  visible_ = engine::visible_together(scopes);
}

std::vector<ScopePtr> to_scopes(const py::object& value, size_t n) {
  if (py::isinstance<engine::Scope>(value)) return std::vector<ScopePtr>(n, to_scope(value, "scope"));
  const py::tuple items = items_of(value, "scope");
  check_length(items, "scope", n);
  std::vector<ScopePtr> scopes(n);
  for (size_t i = 0; i < n; ++i) scopes[i] = to_scope(items[i], at("scope", i));
  return scopes;
}

engine::DocumentKey to_key(py::handle item, const std::string& place) {
  if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2) return {nullptr, to_id(item, place)};
  return {&as_scope(PyTuple_GET_ITEM(item.ptr(), 0), (place + "[0]").c_str()),
          to_id(PyTuple_GET_ITEM(item.ptr(), 1), place + "[1]")};
}

std::vector<engine::DocumentKey> to_keys(const py::tuple& items, const char* name) {
  std::vector<engine::DocumentKey> keys(items.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = to_key(items[i], at(name, i));
  return keys;
}

}  // namespace scrubjay::bindings
