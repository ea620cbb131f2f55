// One place that maps the core's errors to Python's.
#include "base/errors.hpp"

#include "bindings.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {

void register_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    const auto raise = [](const char* name, const std::exception& error) {
      const py::object type = py::module_::import("scrubjay.errors").attr(name);
      PyErr_SetString(type.ptr(), error.what());
    };
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const base::InvalidArgument& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const base::WrongType& error) {
      PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const base::Conflict& error) {
      raise("ConflictError", error);
    } catch (const base::Corrupt& error) {
      raise("CorruptIndexError", error);
    } catch (const base::Error& error) {
      raise("Error", error);
    }
  });
}

}  // namespace scrubjay::bindings
