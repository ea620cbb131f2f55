// Worker pool: threads that help the calling thread.
//
// One pool for the process. Its threads start when they are first needed, at most one fewer than the machine
// has cores (but one at least), and then wait for the next work; starting a thread for each batch costs more
// than a small batch. A caller never waits for a helper that has not begun: if all are busy elsewhere it does
// everything by itself, so work may call for help, too. The pool is never destroyed and its threads are
// detached: they end with the process. After a fork the child starts anew, without the parent's threads.
#pragma once

namespace scrubjay::base {

// How many threads the machine runs at once, at least 1.
[[nodiscard]] unsigned n_cores() noexcept;

// Calls work(context) on this thread and on up to n_helpers others at the same time; returns when all calls
// have returned. `work` must not throw, and returns when nothing is left to do. False: `work` forked on this
// thread and this is the child, where what helpers had begun is not done.
[[nodiscard]] bool run_with_helpers(unsigned n_helpers, void (*work)(void*) noexcept, void* context) noexcept;

template <class Work>
[[nodiscard]] bool run_with_helpers(unsigned n_helpers, const Work& work) noexcept {
  static_assert(noexcept(work()));
  return run_with_helpers(
      n_helpers, [](void* context) noexcept { (*static_cast<const Work*>(context))(); },
      const_cast<Work*>(&work));
}

// Threads that the pool has started (for tests).
[[nodiscard]] unsigned n_pool_threads() noexcept;

}  // namespace scrubjay::base
