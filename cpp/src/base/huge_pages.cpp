#include "base/huge_pages.hpp"

#include <algorithm>

#if defined(__linux__)
#include <sys/mman.h>

#include <fstream>
#include <string>
#endif

namespace scrubjay::base {

void HugePages::add(const void* memory, size_t n_bytes) {
  auto from = reinterpret_cast<uintptr_t>(memory);
  for (const uintptr_t end = from + n_bytes; from < end;) {
    const uintptr_t page = from / kBytes * kBytes;
    const uintptr_t next = std::min<uintptr_t>(end, page + kBytes);
    covered_[page] += next - from;
    from = next;
  }
}

#if defined(__linux__)
namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack

// "always [madvise] never": the current setting is in brackets.
bool forbidden() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word)
    if (word == "[never]") return true;
  return false;
}

}  // namespace

size_t HugePages::use() const noexcept {
  try {
    if (covered_.empty() || forbidden()) return 0;
  } catch (...) {
    return 0;
  }
  size_t n_huge = 0;
  for (const auto& [page, n_bytes] : covered_) {
    if (n_bytes < kBytes / 2) continue;
    n_huge += ::madvise(reinterpret_cast<void*>(page), kBytes, kCollapse) == 0 ? 1 : 0;
  }
  return n_huge;
}
#else
size_t HugePages::use() const noexcept { return 0; }
#endif

}  // namespace scrubjay::base
