// Interruption: ends a long call early on behalf of its caller.
//
// Long operations call interruption_point() about once a millisecond. A caller that wants to be able to end
// them constructs an Interruptible on its thread. Its function is called at the first interruption point
// after each period, and an exception that it throws (base::Interrupted, or the caller's own) ends the
// operation, which is rolled back or abandoned as for any other exception. Without an Interruptible on the
// thread, an interruption point costs one load and one branch, and the clock is not read.
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
  Interruptible* const outer_;  // of the call that this one is nested in
  std::chrono::steady_clock::time_point next_{};
};

namespace detail {
inline constinit thread_local Interruptible* interruptible = nullptr;
}

// Disables interruption points for its lifetime: around a callback, which runs the caller's own code.
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
