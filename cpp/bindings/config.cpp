#include <thread>

#include "bindings.hpp"
#include "simd/kernels.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "GCC " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

py::dict show_config_dict() {
  py::list levels;
  for (const simd::Kernels* level : simd::available_kernels()) levels.append(level->level);
  py::dict config;
  config["version"] = SCRUBJAY_VERSION;
  config["compiler"] = kCompiler;
  config["build_type"] = SCRUBJAY_BUILD_TYPE;
  config["simd_levels"] = levels;
  config["simd_active"] = simd::kernels().level;
  config["n_cpus"] = std::thread::hardware_concurrency();
  return config;
}

}  // namespace

void register_config(py::module_& module) {
  module.def("show_config_dict", &show_config_dict,
             "Build configuration and SIMD level of the native module: version, compiler, build_type, "
             "simd_levels (those that this CPU supports, best last), simd_active (SCRUBJAY_SIMD forces one), "
             "n_cpus.");
}

}  // namespace scrubjay::bindings
