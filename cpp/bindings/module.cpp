#include <pybind11/numpy.h>

#include "bindings.hpp"
#include "gil.hpp"

void register_text(pybind11::module_& module);  // text.cpp

namespace {

// State that threads share, and the interpreter lookup of callbacks, exist once per process.
[[nodiscard]] bool refused_here() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return false;
  PyErr_SetString(
      PyExc_ImportError,
      "scrubjay._native: expected the main interpreter, got a subinterpreter, which Scrubjay does "
      "not support (with mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
  return true;
}

}  // namespace

// Before Python 3.12, pybind11's module initialisation waits forever for the GIL of a subinterpreter, so ours
// is called first.
#undef PYBIND11_PLUGIN_IMPL
#define PYBIND11_PLUGIN_IMPL(name) static PyObject* init_in_main_interpreter()

// Works without a GIL, too: threads share only the core, which is thread-safe, and objects that are immutable
// once made.
PYBIND11_MODULE(_native, module, pybind11::mod_gil_not_used()) {
  if (refused_here()) throw pybind11::error_already_set();  // Python 3.13 calls only this function there
  static_cast<void>(pybind11::detail::npy_api::get());  // loaded now, since it cannot be imported at shutdown
  module.doc() = "The native core of Scrubjay. Use it through the package `scrubjay`.";
  module.attr("__version__") = SCRUBJAY_VERSION;
  scrubjay::bindings::InterruptibleWithoutGil::learn_main_thread();
  scrubjay::bindings::register_errors(module);
  scrubjay::bindings::register_config(module);
  register_text(module);
  scrubjay::bindings::register_scope(module);
  scrubjay::bindings::register_embedder(module);
  scrubjay::bindings::register_filter(module);
  scrubjay::bindings::register_result(module);
  scrubjay::bindings::register_hits(module);
  scrubjay::bindings::register_ranking(module);
  scrubjay::bindings::register_query(module);
  scrubjay::bindings::register_engine(module);
}

extern "C" PYBIND11_EXPORT PyObject* PyInit__native();
extern "C" PYBIND11_EXPORT PyObject* PyInit__native() {
  return refused_here() ? nullptr : init_in_main_interpreter();
}
