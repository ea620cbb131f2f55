#include "base/epoch.hpp"

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "base/fork.hpp"

namespace scrubjay::base {
namespace {

constexpr uint64_t kIdle = std::numeric_limits<uint64_t>::max();

// One slot per thread that has ever pinned; reused after the thread ends, never freed. One cache line each,
// to avoid false sharing between readers.
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
  std::mutex mutex;  // guards the following members
  // A queue with ascending epochs; the first `n_freed` are freed already.
  std::vector<Retired> retired;
  size_t n_freed = 0;
  uint64_t n_ever = 0;
};

void lock_domain() noexcept;
void unlock_domain() noexcept;
void renew_domain() noexcept;

constexpr uint64_t kRetiredPerPass = 64;  // a pass after this many retirements frees up to twice as many
constexpr size_t kMostPerPass = 2 * kRetiredPerPass;

Domain& domain() noexcept {
  // Never destroyed: threads may outlive static destruction.
  static Domain* const instance = [] {
    auto* domain = new Domain;
    at_fork(ForkOrder::epochs, {lock_domain, unlock_domain, renew_domain});
    return domain;
  }();
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

// Orders a slot's store before the following reads, and the unlinking before the scan of the slots. The race
// detector does not see fences; for it the store itself is sequentially consistent, which suffices on x86.
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

void lock_domain() noexcept { domain().mutex.lock(); }
void unlock_domain() noexcept { domain().mutex.unlock(); }
// Clears the slots of the parent's other threads, which do not exist in the child.
void renew_domain() noexcept {
  Domain& d = domain();
  const Slot* this_slot = thread_state().slot;
  for (Slot* slot = d.slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    if (slot == this_slot) continue;
    slot->epoch.store(kIdle, std::memory_order_relaxed);
    slot->taken.store(false, std::memory_order_relaxed);
  }
  new (&d.mutex) std::mutex;
}

// The oldest epoch that is pinned by a reader.
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

namespace {

// Frees the oldest objects that no reader can hold, at most kMostPerPass: a thread frees about as much
// as it retires, instead of all that a writer of millions has left. Allocates nothing. Returns the
// number of freed objects.
size_t collect_some() noexcept {
  Domain& d = domain();
  Retired free[kMostPerPass];
  size_t n = 0;
  {
    const std::lock_guard lock(d.mutex);
    const uint64_t oldest = oldest_pinned();
    while (n < kMostPerPass && d.n_freed < d.retired.size() && d.retired[d.n_freed].epoch < oldest)
      free[n++] = d.retired[d.n_freed++];
    constexpr size_t kUsual = 4096;
    if (d.n_freed == d.retired.size()) {
      d.retired.clear();
      d.n_freed = 0;
    } else if (d.n_freed > kUsual && 2 * d.n_freed > d.retired.size()) {
      d.retired.erase(d.retired.begin(), d.retired.begin() + static_cast<ptrdiff_t>(d.n_freed));
      d.n_freed = 0;
    }
  }
  for (size_t i = 0; i < n; ++i)
    free[i].destroy(free[i].object);  // outside the lock: a destructor may retire objects
  return n;
}

}  // namespace

void retire(void* object, void (*destroy)(void*) noexcept) noexcept {
  Domain& d = domain();
  bool is_time = false;
  try {
    const std::lock_guard lock(d.mutex);
    d.retired.push_back({object, destroy, 0});
    // A reader that pins an epoch after this increment is ordered after the unlinking and cannot
    // find the object.
    d.retired.back().epoch = d.epoch.fetch_add(1, std::memory_order_seq_cst);
    is_time = ++d.n_ever % kRetiredPerPass == 0;
  } catch (...) {
    return;  // no memory to record it: the object leaks, which is safe for its readers
  }
  if (is_time) collect_some();
}

void collect_retired() noexcept {
  while (collect_some() != 0) {
  }
}

size_t n_retired() noexcept {
  Domain& d = domain();
  const std::lock_guard lock(d.mutex);
  return d.retired.size() - d.n_freed;
}

}  // namespace scrubjay::base
