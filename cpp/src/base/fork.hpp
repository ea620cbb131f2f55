// Fork handling: keeps locks and data structures usable in the child of a fork.
//
// A fork copies only the calling thread. Locks that other threads hold stay locked in the child, and the
// structures that they were changing stay half changed. A fork therefore waits, for a limited time, until no
// other thread is inside a ForkGate (each engine has one), and admits no thread meanwhile. Components that
// hold their lock only briefly and wait for nothing else (the epochs, the worker pool) simply take it around
// the fork. On platforms without fork, everything here is a no-op.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace scrubjay::base {

// Handlers called around each fork of the process: `before` in the order of ForkOrder, the others in reverse.
enum class ForkOrder : uint8_t { gates, worker_pool, epochs };
struct ForkHandlers {
  void (*before)() noexcept;
  void (*in_parent)() noexcept;
  void (*in_child)() noexcept;
};
void at_fork(ForkOrder order, const ForkHandlers& handlers);

// Guards the code that holds the locks of one object. A thread enters before it takes the first of those
// locks and leaves after it releases the last one. It never enters twice: if the engine calls user code from
// inside (a stemmer, a signal handler) and that code calls the engine again, it gets base::Error instead of
// waiting for its own thread.
class ForkGate {
 public:
  // Called in the child before it continues, when it has no other thread: re-creates the owner's locks.
  // `torn`: a thread of the parent was inside; its change is incomplete, so no thread is admitted any more.
  using InChild = void (*)(void* owner, bool torn) noexcept;

  ForkGate(void* owner, InChild in_child);
  ~ForkGate() { close(); }
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;

  // For the owner's destructor: forks no longer call this gate.
  void close() noexcept;

  class Inside {
   public:
    explicit Inside(ForkGate& gate);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class ForkGate;
    ForkGate& gate_;
    Inside* const outer_;
  };
  // Whether this thread is inside.
  [[nodiscard]] bool inside() const noexcept;

  // How long a fork waits for all gates together. Without a limit, a fork that holds the GIL would wait
  // forever for a Python stemmer that needs the GIL.
  static constexpr std::chrono::milliseconds kLongestWait{500};

 private:
  friend struct ForkGates;

  void* const owner_;
  const InChild in_child_;
  std::atomic<uint32_t> n_inside_{0};
  bool torn_ = false;
  bool closed_ = false;
  ForkGate* next_ = nullptr;  // in the list of all gates
  ForkGate* previous_ = nullptr;
};

}  // namespace scrubjay::base
