#include <pybind11/numpy.h>

#include "bindings.hpp"
#include "gil.hpp"

void register_text(pybind11::module_& module);  // text.cpp

namespace {

// What threads share, and the way callbacks find their interpreter, is one for the process.
[[nodiscard]] bool refused_here() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return false;
  PyErr_SetString(
      PyExc_ImportError,
      "scrubjay._native: expected the main interpreter, got a subinterpreter, which Scrubjay does "
      "not support (with mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
  return true;
}

}  // namespace

// pybind11's way in waits for ever for the GIL of a subinterpreter before Python 3.12, so ours stands before
// it.
#undef PYBIND11_PLUGIN_IMPL
#define PYBIND11_PLUGIN_IMPL(name) static PyObject* init_in_main_interpreter()

// Without a GIL, too: what threads share is the core, which is thread-safe, and objects that never change
// once made.
PYBIND11_MODULE(_native, module, pybind11::mod_gil_not_used()) {
  if (refused_here()) throw pybind11::error_already_set();  // Python 3.13 calls only this one there
  static_cast<void>(pybind11::detail::npy_api::get());  // now: it cannot be imported any more at the very end
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
