// The GIL: giving it up and taking it back, in one place for the whole module.
//
// A thread that waits for the GIL of an interpreter that ends never gets it. CPython before 3.14 ends such a
// thread by unwinding it (pthread_exit), which kills the process where it meets a function that may not throw
// or a `catch (...)` that goes on, as pybind11's dispatcher does. So nothing here lets that happen: the
// thread is parked, or unwound as far as the engine's locks reach and parked then. Use these classes rather
// than pybind11's gil_scoped_release and gil_scoped_acquire.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/park.hpp"

namespace scrubjay::bindings {

// From now on only the thread that ends the interpreter may touch Python.
[[nodiscard]] inline bool interpreter_ends() noexcept { return Py_IsInitialized() == 0; }

// Calls Python code of the caller's (an __index__, an iterator), which may lose the GIL on the way. Frames
// that hold references are never unwound from outside: they would let go of them without the GIL.
template <class Call>
auto in_python(Call&& call) {
  try {
    return call();
  } catch (...) {
    if (base::unwound_from_outside()) base::park();
    throw;
  }
}

// Null, and nothing is done, on the thread that ends the interpreter: it keeps the GIL.
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

// As long as it lives the thread is without the GIL.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(release_gil()) {}
  ~WithoutGil() { take_gil(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

// The same around a call that may take long: on the main thread, which alone handles signals, Ctrl-C ends it
// with KeyboardInterrupt, and any other signal whose handler raises with what that raises.
class InterruptibleWithoutGil {
 public:
  InterruptibleWithoutGil() noexcept : state_(release_gil()) {
    if (state_ && PyThread_get_thread_ident() == main_thread_) interruptible_.emplace(&look, this);
  }
  ~InterruptibleWithoutGil() { take_gil(state_); }
  InterruptibleWithoutGil(const InterruptibleWithoutGil&) = delete;
  InterruptibleWithoutGil& operator=(const InterruptibleWithoutGil&) = delete;

  // Once, when the module is imported.
  static void learn_main_thread();

 private:
  static void look(void* self);

  static inline unsigned long main_thread_ = 0;
  PyThreadState* state_;
  std::optional<base::Interruptible> interruptible_;
};

// The same around one search, which may be very short: before it sleeps for the GIL it waits up to twenty
// microseconds while another thread is between two searches, which takes one or two. To be sent to sleep and
// woken takes longer than a short search, and while one thread wakes up the other has the GIL again: two
// threads that searched small memories were often no faster than one.
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

// The GIL for a callback, on any thread. Where the interpreter ends the thread leaves the engine, by an
// exception or by being unwound, so that no lock of the engine stays held; the WithoutGil that it entered the
// engine with, or the pool of worker threads, parks it.
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
