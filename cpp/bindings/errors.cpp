// The only place that maps the core's errors to Python's.
#include "base/errors.hpp"

#include <cstring>

#include "bindings.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {

namespace {

// A message may quote text that is not valid UTF-8 for Python, such as a lone surrogate.
void set_error(PyObject* type, const std::exception& error) {
  const char* what = error.what();
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(what, static_cast<Py_ssize_t>(std::strlen(what)), "backslashreplace"));
  if (text) PyErr_SetObject(type, text.ptr());
}

}  // namespace

void register_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    const auto raise = [](const char* name, const std::exception& error) {
      try {
        const py::object type = py::module_::import("scrubjay.base.errors").attr(name);
        set_error(type.ptr(), error);
      } catch (py::error_already_set&) {  // imports fail while the interpreter is shutting down
        set_error(PyExc_RuntimeError, error);
      }
    };
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const base::InvalidArgument& error) {
      set_error(PyExc_ValueError, error);
    } catch (const base::WrongType& error) {
      set_error(PyExc_TypeError, error);
    } catch (const base::Interrupted& error) {
      set_error(PyExc_KeyboardInterrupt, error);
    } catch (const base::Corrupt& error) {
      raise("CorruptIndexError", error);
    } catch (const base::Error& error) {
      raise("Error", error);
    }
  });
}

}  // namespace scrubjay::bindings
