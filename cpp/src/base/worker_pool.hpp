// Worker pool: threads that help the calling thread.
//
// One pool per process. Its threads start when they are first needed, at most one fewer than the machine has
// cores (but at least one), and then wait for work; starting threads for each batch would cost more than a
// small batch. A caller never waits for a helper that has not begun: if all threads are busy it does all the
// work itself, so work may itself ask for helpers. The pool is never destroyed and its threads are detached:
// they end with the process. After a fork the child starts new threads.
#pragma once

namespace scrubjay::base {

// Number of threads that the machine can run at once, at least 1.
[[nodiscard]] unsigned n_cores() noexcept;

// Calls work(context) on this thread and on up to n_helpers others concurrently; returns when all calls have
// returned. `work` must not throw, and returns when no work is left. Returns false if `work` forked on this
// thread and this is the child, in which the parts that helpers had begun are not done.
[[nodiscard]] bool run_with_helpers(unsigned n_helpers, void (*work)(void*) noexcept, void* context) noexcept;

template <class Work>
[[nodiscard]] bool run_with_helpers(unsigned n_helpers, const Work& work) noexcept {
  static_assert(noexcept(work()));
  return run_with_helpers(
      n_helpers, [](void* context) noexcept { (*static_cast<const Work*>(context))(); },
      const_cast<Work*>(&work));
}

// Number of threads that the pool has started (for tests).
[[nodiscard]] unsigned n_pool_threads() noexcept;

}  // namespace scrubjay::base
