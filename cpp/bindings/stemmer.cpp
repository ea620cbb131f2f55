#include "stemmer.hpp"

#include <memory>
#include <string>

#include "convert.hpp"
#include "gil.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

// Drops the last reference, on whichever thread destroys the engine. Leaks it if the interpreter
// is shutting down.
void let_go(py::object* function) noexcept {
  try {
    const WithGil gil;
    delete function;
  } catch (...) {
    if (base::unwound_from_outside()) base::park();
  }
}

std::string stem_of(PyObject* function, std::string_view word) {
  WithGil gil;
  PyObject* argument = from_text(word).release().ptr();
  PyObject* result = gil.call([&] { return PyObject_CallOneArg(function, argument); });
  Py_DECREF(argument);
  if (!result) throw py::error_already_set();
  const auto stem = py::reinterpret_steal<py::object>(result);
  py::object keep;
  return std::string(to_text(stem, "stemmer: its result", keep));
}

}  // namespace

text::Stemmer to_stemmer(const py::object& function) {
  if (function.is_none()) return nullptr;
  if (!PyCallable_Check(function.ptr()))
    throw py::type_error("stemmer: expected a callable or None, got " + type_name(function));
  const std::shared_ptr<py::object> shared(new py::object(function), &let_go);
  return [shared](std::string_view word) { return stem_of(shared->ptr(), word); };
}

}  // namespace scrubjay::bindings
