#include "base/worker_pool.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace scrubjay;

namespace {

// Counts the tasks 0 to n - 1 with this many helpers; each must be done once.
bool each_task_once(size_t n, unsigned n_helpers) {
  std::vector<std::atomic<int>> done(n);
  std::atomic<size_t> next{0};
  const auto work = [&]() noexcept {
    for (size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) done[i].fetch_add(1);
  };
  CHECK(base::run_with_helpers(n_helpers, work));
  for (const std::atomic<int>& times : done)
    if (times.load() != 1) return false;
  return true;
}

}  // namespace

TEST(pool_does_every_task_once) {
  for (const unsigned n_helpers : {0u, 1u, 2u, 7u, 1000u})
    for (const size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{1000}})
      CHECK(each_task_once(n, n_helpers));
  CHECK(base::n_pool_threads() <= std::max(1u, base::n_cores() - 1));
}

TEST(pool_serves_several_callers_and_nests) {
  std::vector<std::thread> callers;
  std::atomic<int> n_right{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<bool> right{true};
        const auto outer = [&]() noexcept {
          if (!each_task_once(20, 1)) right = false;
        };
        CHECK(base::run_with_helpers(1, outer));
        n_right += right ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(n_right.load(), 800);
}

TEST(pool_helps_while_the_caller_is_busy) {
  std::atomic<int> n_inside{0}, n_most{0};
  const auto work = [&]() noexcept {
    const int inside = ++n_inside;
    for (int seen = n_most.load(); seen < inside && !n_most.compare_exchange_weak(seen, inside);) {
    }
    for (int i = 0; i < 2000 && n_most.load() < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --n_inside;
  };
  CHECK(base::run_with_helpers(1, work));
  CHECK_EQ(n_most.load(), 2);
}

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)  // TSan refuses threads after a fork with threads
TEST(pool_starts_anew_after_a_fork) {
  CHECK(each_task_once(100, 1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool fresh = base::n_pool_threads() == 0;
    const bool right = each_task_once(100, 1);
    _exit(fresh && right && base::n_pool_threads() == 1 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK(each_task_once(100, 1));
}
#endif
