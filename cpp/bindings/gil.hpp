// The GIL: how does a search let others run while it runs itself?
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>

namespace scrubjay::bindings {

// As pybind11::gil_scoped_release, with two differences. It does not look up pybind11's own state. And before
// it sleeps for the GIL it waits up to twenty microseconds while another thread is between two searches,
// which takes one or two: to be sent to sleep and woken takes longer than a short search, and while one
// thread wakes up the other has the GIL again. Two threads that searched small memories so were often no
// faster than one.
class WithoutGil {
 public:
  WithoutGil() noexcept {
    between_searches_.store(false, std::memory_order_relaxed);
    state_ = PyEval_SaveThread();
  }
  ~WithoutGil() {
#if !defined(Py_GIL_DISABLED)
    if (between_searches_.load(std::memory_order_relaxed)) wait();
#endif
    PyEval_RestoreThread(state_);
    between_searches_.store(true, std::memory_order_relaxed);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  static void wait() noexcept {
    using Clock = std::chrono::steady_clock;
    constexpr int kPausesALook = 16;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(20);
    while (between_searches_.load(std::memory_order_relaxed)) {
      for (int i = 0; i < kPausesALook; ++i) pause();
      if (Clock::now() < end) continue;
      between_searches_.store(false, std::memory_order_relaxed);  // it went on to something else
      return;
    }
  }
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  alignas(64) static inline std::atomic<bool> between_searches_{false};
  PyThreadState* state_;
};

}  // namespace scrubjay::bindings
