#include "base/epoch.hpp"

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace scrubjay::base {
namespace {

constexpr uint64_t kIdle = std::numeric_limits<uint64_t>::max();

// One per thread that has ever pinned; reused after the thread ends, never freed. A cache line each, so that
// readers do not slow one another.
struct alignas(64) Slot {
  std::atomic<uint64_t> epoch{kIdle};
  std::atomic<bool> taken{true};
  Slot* next = nullptr;
};

struct Retired {
  void* object;
  void (*destroy)(void*) noexcept;
  uint64_t epoch;
};

struct Domain {
  std::atomic<uint64_t> epoch{1};
  std::atomic<Slot*> slots{nullptr};
  std::mutex mutex;  // guards retired
  std::vector<Retired> retired;
};

Domain& domain() noexcept {
  static Domain* const instance = new Domain;  // never destroyed: threads may outlive static destruction
  return *instance;
}

Slot* acquire_slot() {
  Domain& d = domain();
  for (Slot* slot = d.slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    bool free = false;
    if (slot->taken.compare_exchange_strong(free, true)) return slot;
  }
  Slot* slot = new Slot;
  slot->next = d.slots.load(std::memory_order_relaxed);
  while (!d.slots.compare_exchange_weak(slot->next, slot, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
  return slot;
}

// Orders a slot's store before the reads that follow it, and the unlinking before the scan of the slots.
// Where the fence cannot be seen by the race detector, the store itself is sequentially consistent, which
// suffices on x86.
#if defined(__SANITIZE_THREAD__)
constexpr auto kPinOrder = std::memory_order_seq_cst;
void full_fence() noexcept {}
#else
constexpr auto kPinOrder = std::memory_order_relaxed;
void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

struct ThreadState {
  Slot* slot = nullptr;
  unsigned depth = 0;
  ~ThreadState() {
    if (slot) slot->taken.store(false, std::memory_order_release);
  }
};

ThreadState& thread_state() noexcept {
  thread_local ThreadState state;
  return state;
}

// The oldest epoch that some reader may still see.
uint64_t oldest_pinned() noexcept {
  full_fence();
  uint64_t oldest = kIdle;
  for (Slot* slot = domain().slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    const uint64_t epoch = slot->epoch.load(std::memory_order_seq_cst);
    if (epoch < oldest) oldest = epoch;
  }
  return oldest;
}

}  // namespace

EpochGuard::EpochGuard() noexcept {
  ThreadState& state = thread_state();
  if (state.depth++ != 0) return;
  if (!state.slot) state.slot = acquire_slot();
  // The store must be visible before any pointer is read.
  state.slot->epoch.store(domain().epoch.load(std::memory_order_acquire), kPinOrder);
  full_fence();
}

EpochGuard::~EpochGuard() {
  ThreadState& state = thread_state();
  if (--state.depth == 0) state.slot->epoch.store(kIdle, std::memory_order_release);
}

void retire(void* object, void (*destroy)(void*) noexcept) noexcept {
  Domain& d = domain();
  size_t waiting = 0;
  try {
    const std::lock_guard lock(d.mutex);
    d.retired.push_back({object, destroy, 0});
    // A reader that pins an epoch after this increment was ordered after the unlinking and cannot find the
    // object.
    d.retired.back().epoch = d.epoch.fetch_add(1, std::memory_order_seq_cst);
    waiting = d.retired.size();
  } catch (...) {
    return;  // no memory to remember it: the object leaks, which harms nobody who may still read it
  }
  if (waiting % 64 == 0) collect_retired();
}

void collect_retired() noexcept {
  Domain& d = domain();
  std::vector<Retired> free;
  try {
    const std::lock_guard lock(d.mutex);
    free.reserve(d.retired.size());
    const uint64_t oldest = oldest_pinned();
    size_t kept = 0;
    for (Retired& entry : d.retired) {
      if (entry.epoch < oldest) {
        free.push_back(entry);
      } else {
        d.retired[kept++] = entry;
      }
    }
    d.retired.resize(kept);
  } catch (...) {
    return;  // no memory for the list of what to free: the next call tries again
  }
  for (const Retired& entry : free) entry.destroy(entry.object);  // outside the lock: a destructor may retire
}

size_t n_retired() noexcept {
  Domain& d = domain();
  const std::lock_guard lock(d.mutex);
  return d.retired.size();
}

}  // namespace scrubjay::base
