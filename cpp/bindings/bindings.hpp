// Bindings: the border to Python, and the only folder that knows pybind11. Argument checks, arrays, errors;
// no logic.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

namespace scrubjay::engine {
class Engine;
}

namespace scrubjay::bindings {

struct EngineDeleter {
  void operator()(engine::Engine* engine) const noexcept;
};
using EngineHolder = std::unique_ptr<engine::Engine, EngineDeleter>;
using EngineClass = pybind11::class_<engine::Engine, EngineHolder>;

void register_errors(pybind11::module_& module);
void register_config(pybind11::module_& module);
void register_filter(pybind11::module_& module);
void register_ranking(pybind11::module_& module);
void register_query(pybind11::module_& module);
void register_scope(pybind11::module_& module);
void register_embedder(pybind11::module_& module);
void register_result(pybind11::module_& module);
void register_hits(pybind11::module_& module);
void register_engine(pybind11::module_& module);
void register_search(EngineClass& type);
void register_lookup(EngineClass& type);
void register_residence(EngineClass& type);  // more methods of Engine

}  // namespace scrubjay::bindings
