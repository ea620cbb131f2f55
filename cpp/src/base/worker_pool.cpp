#include "base/worker_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/fork.hpp"

namespace scrubjay::base {
namespace {

// The work of one caller; it is on the caller's stack, and linked while helpers may join.
struct Job {
  void (*work)(void*) noexcept;
  void* context;
  unsigned n_wanted;
  unsigned n_running = 0;
  Job* next = nullptr;
  Job* outer = nullptr;  // the enclosing job of the same caller, if its work called for help again
  bool lost = false;     // some helpers do not exist in this process, the child of a fork
};

constinit thread_local Job* own_jobs = nullptr;  // jobs for which this thread called for help

struct Pool {
  std::mutex mutex;  // guards all members
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

void lock_pool() noexcept { current->mutex.lock(); }
void unlock_pool() noexcept { current->mutex.unlock(); }
// The parent's threads do not exist in the child: a new pool replaces the old one, and jobs of this thread
// (whose work may have forked) end without them.
void replace_pool() noexcept {
  Pool* const old = current;
  current = new Pool;
  old->jobs = nullptr;
  for (Job* job = own_jobs; job; job = job->outer) {
    job->lost = job->lost || job->n_running != 0;
    job->n_wanted = job->n_running = 0;
    job->next = old->jobs;
    old->jobs = job;
  }
  new (&old->mutex) std::mutex;
}

Pool& pool() {
  static const bool started = [] {
    current = new Pool;
    at_fork(ForkOrder::worker_pool, {lock_pool, unlock_pool, replace_pool});
    return true;
  }();
  (void)started;
  return *current;
}

}  // namespace

unsigned n_cores() noexcept { return std::max(1u, std::thread::hardware_concurrency()); }

bool run_with_helpers(unsigned n_helpers, void (*work)(void*) noexcept, void* context) noexcept {
  n_helpers = std::min(n_helpers, std::max(1u, n_cores() - 1));
  if (n_helpers == 0) {
    work(context);
    return true;
  }
  Pool& helpers = pool();
  Job job{work, context, n_helpers};
  job.outer = own_jobs;
  own_jobs = &job;
  {
    const std::lock_guard lock(helpers.mutex);
    while (helpers.n_threads < n_helpers) {
      try {
        std::thread([&helpers] { helpers.serve(); }).detach();
      } catch (...) {
        break;  // no more threads available: the running ones do the work
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
  helpers.unlink(job);  // helpers that have not begun are not needed
  own_jobs = job.outer;
  helpers.helper_left.wait(lock, [&] { return job.n_running == 0; });
  return !job.lost;
}

unsigned n_pool_threads() noexcept {
  Pool& helpers = pool();
  const std::lock_guard lock(helpers.mutex);
  return helpers.n_threads;
}

}  // namespace scrubjay::base
