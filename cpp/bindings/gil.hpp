// GIL: its release and acquisition, in one place for the whole module.
//
// A thread that waits for the GIL of an interpreter that is shutting down never gets it. CPython before 3.14
// ends such a thread by unwinding it (pthread_exit), which kills the process if it meets a noexcept function
// or a `catch (...)` that does not rethrow, such as pybind11's dispatcher. The code here prevents that: the
// thread is parked, or unwound up to the engine's locks and then parked. Use these classes instead of
// pybind11's gil_scoped_release and gil_scoped_acquire.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/park.hpp"

namespace scrubjay::bindings {

// Whether the interpreter is shutting down: only the thread that does so may still touch Python.
[[nodiscard]] inline bool interpreter_ends() noexcept { return Py_IsInitialized() == 0; }

// Calls the caller's Python code (an __index__, an iterator), which may lose the GIL. Frames that hold
// references are never unwound from outside, since they would release them without the GIL.
template <class Call>
auto in_python(Call&& call) {
  try {
    return call();
  } catch (...) {
    if (base::unwound_from_outside()) base::park();
    throw;
  }
}

// Returns null, without an effect, on the thread that shuts the interpreter down: it keeps the GIL.
[[nodiscard]] inline PyThreadState* release_gil() noexcept {
  return interpreter_ends() ? nullptr : PyEval_SaveThread();
}
inline void take_gil(PyThreadState* state) noexcept {
  if (!state) return;
  if (interpreter_ends()) base::park();
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    base::park();
  }
}

// Releases the GIL for its lifetime.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(release_gil()) {}
  ~WithoutGil() { take_gil(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

// The same for a call that may take long: on the main thread, which alone handles signals, Ctrl-C ends the
// call with KeyboardInterrupt, and any other signal whose handler raises ends it with that exception.
class InterruptibleWithoutGil {
 public:
  InterruptibleWithoutGil() noexcept : state_(release_gil()) {
    if (state_ && PyThread_get_thread_ident() == main_thread_) interruptible_.emplace(&look, this);
  }
  ~InterruptibleWithoutGil() { take_gil(state_); }
  InterruptibleWithoutGil(const InterruptibleWithoutGil&) = delete;
  InterruptibleWithoutGil& operator=(const InterruptibleWithoutGil&) = delete;

  // Call once, when the module is imported.
  static void learn_main_thread();

 private:
  static void look(void* self);

  static inline unsigned long main_thread_ = 0;
  PyThreadState* state_;
  std::optional<base::Interruptible> interruptible_;
};

// The same for one search, which may be very short: before it sleeps for the GIL it spins for up to twenty
// microseconds while another thread is between two searches, which takes one or two. A futex sleep and wake
// costs more than a short search, and meanwhile the other thread takes the GIL again: without the spin, two
// threads that search small memories were often no faster than one.
class SearchWithoutGil {
 public:
  SearchWithoutGil() noexcept {
    between_searches_.store(false, std::memory_order_relaxed);
    state_ = release_gil();
  }
  ~SearchWithoutGil() {
#if !defined(Py_GIL_DISABLED)
    if (between_searches_.load(std::memory_order_relaxed)) wait();
#endif
    take_gil(state_);
    between_searches_.store(true, std::memory_order_relaxed);
  }
  SearchWithoutGil(const SearchWithoutGil&) = delete;
  SearchWithoutGil& operator=(const SearchWithoutGil&) = delete;

 private:
  static void wait() noexcept {
    using Clock = std::chrono::steady_clock;
    constexpr int kPausesALook = 16;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(20);
    while (between_searches_.load(std::memory_order_relaxed)) {
      for (int i = 0; i < kPausesALook; ++i) pause();
      if (Clock::now() < end) continue;
      between_searches_.store(false, std::memory_order_relaxed);  // the other thread does something else
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

// Holds the GIL for a callback, on any thread. If the interpreter is shutting down, the thread leaves the
// engine by an exception or by being unwound, so that no lock of the engine stays held; it is then parked by
// the WithoutGil with which it entered the engine, or by the pool of worker threads.
class WithGil {
 public:
  WithGil() {
    if (interpreter_ends() && !PyGILState_Check()) throw base::Interrupted("the interpreter ends");
    state_ = PyGILState_Ensure();
  }
  ~WithGil() {
    if (!unwound_) PyGILState_Release(state_);
  }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

  // Calls Python code. No frame between here and the engine may hold a reference in a destructor.
  template <class Call>
  [[nodiscard]] PyObject* call(Call&& call) {
    try {
      return call();
    } catch (...) {
      unwound_ = true;
      throw;
    }
  }

 private:
  const base::Uninterruptible uninterruptible_;
  PyGILState_STATE state_;
  bool unwound_ = false;
};

}  // namespace scrubjay::bindings
