// Epochs: when replaced memory may be freed, without locks for readers.
//
// Epoch-based reclamation (Fraser 2004). A reader pins the current epoch for the length of one search; a
// writer that unlinks a buffer retires it with the epoch that follows; it is freed once no reader is pinned
// at an earlier epoch. Pinning costs one sequentially consistent store and nests. All functions are
// thread-safe; the domain is process-wide and is never destroyed, so that threads may end in any order.
#pragma once

#include <cstddef>
#include <memory>

namespace scrubjay::base {

class EpochGuard {
 public:
  EpochGuard() noexcept;
  ~EpochGuard();
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;
};

// Takes ownership of `object`, which must be unreachable for readers that pin from now on. Never fails, so
// that it can follow a publication: if no memory is available to record the object, the object leaks.
void retire(void* object, void (*destroy)(void*) noexcept) noexcept;

template <class T>
void retire(std::unique_ptr<T> object) noexcept {
  if (object) retire(object.release(), [](void* raw) noexcept { delete static_cast<T*>(raw); });
}

// Frees the retired objects that no reader can hold any more. retire() calls it occasionally; call it to
// release memory immediately.
void collect_retired() noexcept;

// Number of retired objects that are not freed yet (for tests).
[[nodiscard]] size_t n_retired() noexcept;

}  // namespace scrubjay::base
