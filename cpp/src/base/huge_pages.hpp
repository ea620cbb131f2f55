// Huge pages: who reads here and there in much memory waits less if a page is 2 MB instead of 4 KB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace scrubjay::base {

// Collects where something large lies, and asks the system to put it on huge pages. A wish: where it is not
// understood (anything but Linux from 6.1 on) or the machine's owner forbids it, nothing happens. The memory
// may be read and written meanwhile.
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
