// Forks: leave the child with usable locks and structures.
//
// A fork copies one thread. Locks that others held stay locked in the child, and what they were changing
// stays half changed. So a fork waits, for a limited time, until no other thread is inside a ForkGate (an
// engine has one), and admits none meanwhile. What holds no lock for long and waits for nothing else (the
// epochs, the worker pool) is simply locked around the fork. Everything here does nothing where there is no
// fork.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace scrubjay::base {

// Handlers around each fork of the process: `before` in this order, the others in the opposite one.
enum class ForkOrder : uint8_t { gates, worker_pool, epochs };
struct ForkHandlers {
  void (*before)() noexcept;
  void (*in_parent)() noexcept;
  void (*in_child)() noexcept;
};
void at_fork(ForkOrder order, const ForkHandlers& handlers);

// Around what one object's locks guard. A thread enters before it takes the first of them and leaves after it
// gave the last one back. It never enters twice: code of the caller's that is called from inside (a stemmer,
// a signal's handler) and comes back gets base::Error instead of waiting for its own thread.
class ForkGate {
 public:
  // In the child, before it goes on, with no other thread: makes the owner's locks again. `torn`: a thread
  // of the parent was inside; its work is half done, and no thread is admitted any more.
  using InChild = void (*)(void* owner, bool torn) noexcept;

  ForkGate(void* owner, InChild in_child);
  ~ForkGate() { close(); }
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;

  // For the owner's destructor: forks do not call it any more.
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

  // How long a fork waits for all gates together. A stemmer in Python that waits for the GIL while the
  // forking thread holds it is never waited out.
  static constexpr std::chrono::milliseconds kLongestWait{500};

 private:
  friend struct ForkGates;

  void* const owner_;
  const InChild in_child_;
  std::atomic<uint32_t> n_inside_{0};
  bool torn_ = false;
  bool closed_ = false;
  ForkGate* next_ = nullptr;  // in the list of all
  ForkGate* previous_ = nullptr;
};

}  // namespace scrubjay::base
