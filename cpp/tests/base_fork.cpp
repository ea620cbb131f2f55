#include "base/fork.hpp"

#include <atomic>
#include <thread>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "check.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace scrubjay;

namespace {

struct Owner {
  std::atomic<int> n_children{0}, n_torn{0};
  base::ForkGate gate{this, [](void* owner, bool torn) noexcept {
                        ++static_cast<Owner*>(owner)->n_children;
                        static_cast<Owner*>(owner)->n_torn += torn ? 1 : 0;
                      }};
};

}  // namespace

TEST(a_gate_is_not_entered_twice_by_a_thread) {
  Owner owner, other;
  const base::ForkGate::Inside inside(owner.gate);
  CHECK(owner.gate.inside());
  CHECK_THROWS((base::ForkGate::Inside(owner.gate)), base::Error);
  CHECK(!other.gate.inside());
  const base::ForkGate::Inside another(other.gate);
  CHECK(other.gate.inside());
}

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)  // TSan refuses threads after a fork with threads

namespace {

// The exit code of a child that does this work; an alarm ends it if it hangs.
template <class Work>
int in_child(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace

TEST(fork_waits_for_threads_inside_a_gate) {
  Owner owner;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      const base::ForkGate::Inside inside(owner.gate);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int i = 0; i < 20; ++i) {
    CHECK_EQ(in_child([&] {
               const base::ForkGate::Inside inside(owner.gate);
               return owner.n_children.load() == 1 && owner.n_torn.load() == 0;
             }),
             0);
  }
  stop.store(true);
  busy.join();
  CHECK_EQ(owner.n_children.load(), 0);
}

TEST(gate_held_across_a_fork_is_torn_in_the_child_only) {
  Owner owner, other;
  std::atomic<bool> stop{false}, entered{false};
  std::thread stuck([&] {
    const base::ForkGate::Inside inside(owner.gate);
    entered.store(true);
    while (!stop.load()) std::this_thread::yield();
  });
  while (!entered.load()) std::this_thread::yield();
  CHECK_EQ(in_child([&] {
             const base::ForkGate::Inside inside(other.gate);
             try {
               const base::ForkGate::Inside refused(owner.gate);
             } catch (const base::Error&) {
               return owner.n_torn.load() == 1 && other.n_torn.load() == 0;
             }
             return false;
           }),
           0);
  stop.store(true);
  stuck.join();
  const base::ForkGate::Inside inside(owner.gate);
}

TEST(thread_that_forks_inside_a_gate_stays_inside) {
  Owner owner;
  const base::ForkGate::Inside inside(owner.gate);
  CHECK_EQ(in_child([&] { return owner.gate.inside() && owner.n_torn.load() == 0; }), 0);
}

TEST(retired_memory_is_freed_in_a_child_despite_pins_of_its_parent) {
  std::atomic<bool> stop{false}, pinned{false};
  std::thread reader([&] {
    const base::EpochGuard guard;
    pinned.store(true);
    while (!stop.load()) std::this_thread::yield();
  });
  while (!pinned.load()) std::this_thread::yield();
  base::retire(std::make_unique<int>(1));
  base::collect_retired();
  CHECK(base::n_retired() != 0);
  CHECK_EQ(in_child([] {
             base::collect_retired();
             return base::n_retired() == 0;
           }),
           0);
  stop.store(true);
  reader.join();
  base::collect_retired();
}

#endif
