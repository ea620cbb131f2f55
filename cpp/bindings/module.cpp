#include "bindings.hpp"

void register_text(pybind11::module_& module);  // text.cpp

// Without a GIL, too: what threads share is the core, which is thread-safe, and objects that never change
// once made.
PYBIND11_MODULE(_native, module, pybind11::mod_gil_not_used()) {
  module.doc() = "The native core of Scrubjay. Use it through the package `scrubjay`.";
  module.attr("__version__") = SCRUBJAY_VERSION;
  scrubjay::bindings::register_errors(module);
  scrubjay::bindings::register_config(module);
  register_text(module);
  scrubjay::bindings::register_scope(module);
  scrubjay::bindings::register_embedder(module);
  scrubjay::bindings::register_filter(module);
  scrubjay::bindings::register_result(module);
  scrubjay::bindings::register_ranking(module);
  scrubjay::bindings::register_engine(module);
}
