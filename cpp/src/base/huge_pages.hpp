// Huge pages: backs large, randomly accessed arrays with 2 MB pages to reduce TLB misses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace scrubjay::base {

// Collects address ranges and asks the system to put them on huge pages. Best effort: a no-op where it is
// unsupported (anything but Linux 6.1 and later) or disabled. The memory may be read and written meanwhile.
class HugePages {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;

  // Throws std::bad_alloc.
  void add(const void* memory, size_t n_bytes);
  // Requests huge pages for every page that is at least half covered by the added ranges. Returns the number
  // of pages that are huge now.
  size_t use() const noexcept;

 private:
  std::map<uintptr_t, size_t> covered_;  // covered bytes by page address
};

}  // namespace scrubjay::base
