// The border to Python: the only folder that knows pybind11. Argument checks, arrays, errors; no logic.
#pragma once

#include <pybind11/pybind11.h>

namespace scrubjay::engine {
class Engine;
}

namespace scrubjay::bindings {

void register_errors(pybind11::module_& module);
void register_config(pybind11::module_& module);
void register_filter(pybind11::module_& module);
void register_ranking(pybind11::module_& module);
void register_scope(pybind11::module_& module);
void register_embedder(pybind11::module_& module);
void register_result(pybind11::module_& module);
void register_engine(pybind11::module_& module);
void register_search(pybind11::class_<engine::Engine>& type);
void register_lookup(pybind11::class_<engine::Engine>& type);
void register_residence(pybind11::class_<engine::Engine>& type);  // more methods of Engine

}  // namespace scrubjay::bindings
