// Huge pages: backs large, randomly accessed arrays with 2 MB pages to reduce TLB misses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace scrubjay::base {

// Collects address ranges, and asks the system to put them on huge pages. Best effort: a no-op where it is
// unsupported (anything but Linux from 6.1 on) or disabled. The memory may be read and written meanwhile.
class HugePages {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;

  // Throws std::bad_alloc.
  void add(const void* memory, size_t n_bytes);
  // For every page that is at least half covered by what was added; how many now are huge.
  size_t use() const noexcept;

 private:
  std::map<uintptr_t, size_t> covered_;  // bytes, by where the page begins
};

}  // namespace scrubjay::base
