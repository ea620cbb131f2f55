#include <cstdlib>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "simd/kernels.hpp"
#include "simd/x86_features.hpp"

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
#endif

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> levels{&baseline::kTable};
#if defined(__x86_64__)
  const X86Features cpu = x86_features();
  if (cpu.avx2) levels.push_back(&avx2::kTable);
  if (cpu.avx512) {
    levels.push_back(&avx512::kTable);
    levels.push_back(&avx512::kGatheringTable);
    if (cpu.is_amd) std::swap(levels.back(), levels[levels.size() - 2]);
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
