// Interruption: ends a long call early on behalf of its caller.
//
// Long work passes interruption points, a millisecond or so apart. A caller that wants to be asked constructs
// an Interruptible on its thread; its function is called at the first point after each period, and what it
// throws (base::Interrupted, or an exception of the caller's own) ends the work. Work that was begun is taken
// back or abandoned, as it is for any other exception. Without an Interruptible on the thread a point costs
// one load and one branch, and the clock is not read.
#pragma once

#include <chrono>
#include <utility>

namespace scrubjay::base {

class Interruptible {
 public:
  using Look = void (*)(void* context);  // throws to end the work

  Interruptible(Look look, void* context) noexcept;
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  void pass();

  static constexpr std::chrono::milliseconds kPeriod{40};

 private:
  const Look look_;
  void* const context_;
  Interruptible* const outer_;  // of a call that this one is nested in
  std::chrono::steady_clock::time_point next_{};
};

namespace detail {
inline constinit thread_local Interruptible* interruptible = nullptr;
}

// As long as it lives points do not ask: around a callback, during which the caller is at work itself.
class Uninterruptible {
 public:
  Uninterruptible() noexcept : outer_(std::exchange(detail::interruptible, nullptr)) {}
  ~Uninterruptible() { detail::interruptible = outer_; }
  Uninterruptible(const Uninterruptible&) = delete;
  Uninterruptible& operator=(const Uninterruptible&) = delete;

 private:
  Interruptible* const outer_;
};

inline void interruption_point() {
  if (detail::interruptible) [[unlikely]]
    detail::interruptible->pass();
}

}  // namespace scrubjay::base
