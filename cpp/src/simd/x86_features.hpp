// Features of an x86-64 CPU that the levels need.
#pragma once

namespace scrubjay::simd {

struct X86Features {
  bool avx2 = false;    // all that level_avx2.cpp is compiled for, and the system saves the registers
  bool avx512 = false;  // all that level_avx512.cpp is compiled for, and the system saves the registers
  bool is_amd = false;
};

// Queries the CPU with CPUID. __builtin_cpu_supports() reads a table of the compiler's run-time library,
// which clang-cl does not link and zig leaves empty, so that every CPU would seem to have the baseline only.
// On other architectures no feature is set.
[[nodiscard]] X86Features x86_features() noexcept;

}  // namespace scrubjay::simd
