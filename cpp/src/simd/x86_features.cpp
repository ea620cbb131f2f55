#include "simd/x86_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#endif

namespace scrubjay::simd {

#if defined(__x86_64__)

namespace {

// The registers of CPUID, as in Intel's manual (volume 2A, CPUID; AMD's: volume 3, appendix E).
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf leaf_of(unsigned number, unsigned part = 0) noexcept {
  Leaf leaf;
  if (__get_cpuid_count(number, part, &leaf.eax, &leaf.ebx, &leaf.ecx, &leaf.edx) == 0) return {};
  return leaf;
}

constexpr unsigned bits(std::initializer_list<unsigned> numbers) noexcept {
  unsigned mask = 0;
  for (const unsigned number : numbers) mask |= 1u << number;
  return mask;
}

constexpr bool has(unsigned value, unsigned mask) noexcept { return (value & mask) == mask; }

// The registers that the system saves when it switches threads (XCR0).
uint64_t saved_registers() noexcept {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

}  // namespace

X86Features x86_features() noexcept {
  constexpr unsigned kFma = 12, kPopcnt = 23, kOsxsave = 27, kAvx = 28, kF16c = 29;  // leaf 1, ecx
  constexpr unsigned kBmi1 = 3, kAvx2 = 5, kBmi2 = 8;                                // leaf 7, ebx
  constexpr unsigned kF = 16, kDq = 17, kCd = 28, kBw = 30, kVl = 31;                // leaf 7, ebx
  constexpr unsigned kVnni = 11;                                                     // leaf 7, ecx
  constexpr unsigned kLzcnt = 5;                                                     // leaf 0x80000001, ecx
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6;                                        // XCR0
  X86Features found;
  const Leaf vendor = leaf_of(0), first = leaf_of(1), seventh = leaf_of(7), extended = leaf_of(0x80000001u);
  char name[12];
  std::memcpy(name, &vendor.ebx, 4);
  std::memcpy(name + 4, &vendor.edx, 4);
  std::memcpy(name + 8, &vendor.ecx, 4);
  found.is_amd = std::memcmp(name, "AuthenticAMD", 12) == 0;
  if (!has(first.ecx, bits({kOsxsave}))) return found;
  const uint64_t saved = saved_registers();
  found.avx2 = (saved & kYmm) == kYmm && has(first.ecx, bits({kFma, kPopcnt, kAvx, kF16c})) &&
               has(seventh.ebx, bits({kBmi1, kAvx2, kBmi2})) && has(extended.ecx, bits({kLzcnt}));
  found.avx512 = found.avx2 && (saved & kZmm) == kZmm && has(seventh.ebx, bits({kF, kDq, kCd, kBw, kVl})) &&
                 has(seventh.ecx, bits({kVnni}));
  return found;
}

#else

X86Features x86_features() noexcept { return {}; }

#endif

}  // namespace scrubjay::simd
