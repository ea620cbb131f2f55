#include <cstdlib>
#include <string>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/errors.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::simd {

namespace baseline {
extern const Kernels kTable;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kTable;
}
namespace avx512 {
extern const Kernels kTable, kGatheringTable;
}

// clang 14 does not know "f16c" as a name for __builtin_cpu_supports().
static bool supports_f16c() noexcept {
  constexpr unsigned kF16c = 1u << 29;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
}
#endif

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> levels{&baseline::kTable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
      supports_f16c()) {
    levels.push_back(&avx2::kTable);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vnni")) {
      levels.push_back(&avx512::kTable);
      levels.push_back(&avx512::kGatheringTable);
      if (__builtin_cpu_is("amd")) std::swap(levels.back(), levels[levels.size() - 2]);
    }
  }
#endif
  return levels;
}

namespace {

const Kernels& choose() {
  const std::vector<const Kernels*> levels = available_kernels();
  const char* forced = std::getenv("SCRUBJAY_SIMD");
  if (!forced || *forced == '\0') return *levels.back();
  std::string names;
  for (const Kernels* level : levels) {
    if (std::string_view(forced) == level->level) return *level;
    names += names.empty() ? "" : ", ";
    names += level->level;
  }
  throw base::InvalidArgument("SCRUBJAY_SIMD: expected one of " + names + " (what this CPU can run), got '" +
                              forced + "'");
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace scrubjay::simd
