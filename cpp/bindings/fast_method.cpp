#include "fast_method.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {

void FastEntry::install(py::handle type, const char* name, std::span<const char* const> parameters,
                        PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
  for (const char* parameter : parameters) names_.push_back(PyUnicode_InternFromString(parameter));
  slow_ = py::object(type.attr(name)).release().ptr();
  documentation_ = py::cast<std::string>(py::handle(slow_).attr("__doc__"));
  definition_ = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                 METH_FASTCALL | METH_KEYWORDS, documentation_.c_str()};
  type.attr(name) = py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &definition_));
}

PyObject* FastEntry::call_slowly(PyObject* self, PyObject* const* arguments, size_t n_positional,
                                 PyObject* keywords) const {
  std::vector<PyObject*> all{self};
  const size_t n_keywords = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  all.insert(all.end(), arguments, arguments + n_positional + n_keywords);
  return PyObject_Vectorcall(slow_, all.data(), n_positional + 1, keywords);
}

}  // namespace scrubjay::bindings
