// Access: whether other threads may use an object of atomics, or it is not yet known to them.
//
// A locked instruction takes longer than all else that is done for an element of a large table, and while the
// table is filled before it is published it is not needed.
#pragma once

#include <atomic>
#include <cstdint>

namespace scrubjay::base {

enum class Access : uint8_t { alone, shared };

// Adds to a relaxed counter; returns its value before.
template <Access access, class T>
[[nodiscard]] T fetch_add(std::atomic<T>& counter, T more) noexcept {
  if constexpr (access == Access::shared) return counter.fetch_add(more, std::memory_order_relaxed);
  const T before = counter.load(std::memory_order_relaxed);
  counter.store(before + more, std::memory_order_relaxed);
  return before;
}

}  // namespace scrubjay::base
