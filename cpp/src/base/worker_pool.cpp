#include "base/worker_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace scrubjay::base {
namespace {

// What one caller wants done; it lives on the caller's stack and is linked while helpers may join.
struct Job {
  void (*work)(void*) noexcept;
  void* context;
  unsigned n_wanted;
  unsigned n_running = 0;
  Job* next = nullptr;
};

struct Pool {
  std::mutex mutex;  // guards everything
  std::condition_variable job_waits, helper_left;
  Job* jobs = nullptr;
  unsigned n_threads = 0;

  void serve() noexcept {
    std::unique_lock lock(mutex);
    for (;;) {
      Job* job = jobs;
      while (job && job->n_wanted == 0) job = job->next;
      if (!job) {
        job_waits.wait(lock);
        continue;
      }
      --job->n_wanted;
      ++job->n_running;
      lock.unlock();
      job->work(job->context);
      lock.lock();
      if (--job->n_running == 0) helper_left.notify_all();
    }
  }

  void unlink(const Job& job) noexcept {
    Job** at = &jobs;
    while (*at != &job) at = &(*at)->next;
    *at = job.next;
  }
};

Pool* current = nullptr;

#if !defined(_WIN32)
void before_fork() noexcept { current->mutex.lock(); }
void after_fork_in_parent() noexcept { current->mutex.unlock(); }
void after_fork_in_child() noexcept {
  current = new Pool;
}  // the parent's threads are not here; its state is let go
#endif

Pool& pool() {
  static const bool started = [] {
    current = new Pool;
#if !defined(_WIN32)
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
#endif
    return true;
  }();
  (void)started;
  return *current;
}

}  // namespace

unsigned n_cores() noexcept { return std::max(1u, std::thread::hardware_concurrency()); }

void run_with_helpers(unsigned n_helpers, void (*work)(void*) noexcept, void* context) noexcept {
  n_helpers = std::min(n_helpers, std::max(1u, n_cores() - 1));
  if (n_helpers == 0) return work(context);
  Pool& helpers = pool();
  Job job{work, context, n_helpers};
  {
    const std::lock_guard lock(helpers.mutex);
    while (helpers.n_threads < n_helpers) {
      try {
        std::thread([&helpers] { helpers.serve(); }).detach();
      } catch (...) {
        break;  // no more threads to be had: those that run do the work
      }
      ++helpers.n_threads;
    }
    Job** last = &helpers.jobs;
    while (*last) last = &(*last)->next;
    *last = &job;
  }
  if (n_helpers == 1) {
    helpers.job_waits.notify_one();
  } else {
    helpers.job_waits.notify_all();
  }
  work(context);
  std::unique_lock lock(helpers.mutex);
  helpers.unlink(job);  // whoever has not begun need not
  helpers.helper_left.wait(lock, [&] { return job.n_running == 0; });
}

unsigned n_pool_threads() noexcept {
  Pool& helpers = pool();
  const std::lock_guard lock(helpers.mutex);
  return helpers.n_threads;
}

}  // namespace scrubjay::base
