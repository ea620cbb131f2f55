// What an x86-64 CPU can run, as far as our levels need it.
#pragma once

namespace scrubjay::simd {

struct X86Features {
  bool avx2 = false;    // all that level_avx2.cpp is compiled for, and the system saves the registers
  bool avx512 = false;  // all that level_avx512.cpp is compiled for, and the system saves the registers
  bool is_amd = false;
};

// Asks the CPU itself. Not __builtin_cpu_supports(): that reads a table of the compiler's run-time library, which clang-cl
// does not link and which zig leaves empty, so that every CPU seems to have the baseline only. Elsewhere nothing is there.
[[nodiscard]] X86Features x86_features() noexcept;

}  // namespace scrubjay::simd
