#include "base/interruption.hpp"

#include <thread>
#include <vector>

#include "base/errors.hpp"
#include "check.hpp"

using namespace scrubjay;

namespace {

// Calls interruption points for this long; returns whether it was interrupted.
bool interrupted(std::chrono::milliseconds work) {
  const auto end = std::chrono::steady_clock::now() + work;
  try {
    while (std::chrono::steady_clock::now() < end) base::interruption_point();
  } catch (const base::Interrupted&) {
    return true;
  }
  return false;
}

void interrupt(void* n_looks) {
  ++*static_cast<int*>(n_looks);
  throw base::Interrupted("enough");
}

}  // namespace

TEST(interruption_points_call_back_once_per_period) {
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> looks;
  const base::Interruptible interruptible(
      [](void* times) { static_cast<std::vector<Clock::time_point>*>(times)->push_back(Clock::now()); },
      &looks);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(20);
  while (looks.size() < 4 && Clock::now() < end) base::interruption_point();
  CHECK_EQ(looks.size(), 4);
  for (size_t i = 1; i < looks.size(); ++i)
    CHECK(looks[i] - looks[i - 1] >= base::Interruptible::kPeriod / 2);
}

TEST(short_work_calls_no_interruption_callback) {
  int n_looks = 0;
  const base::Interruptible interruptible(&interrupt, &n_looks);
  base::interruption_point();
  CHECK_EQ(n_looks, 0);
  CHECK(interrupted(std::chrono::seconds(20)));
  CHECK_EQ(n_looks, 1);
}

TEST(innermost_interruption_callback_is_called) {
  int n_outer = 0, n_inner = 0;
  const base::Interruptible outer(&interrupt, &n_outer);
  {
    const base::Interruptible inner(&interrupt, &n_inner);
    CHECK(interrupted(std::chrono::seconds(20)));
  }
  CHECK_EQ(n_outer, 0);
  CHECK_EQ(n_inner, 1);
  CHECK(interrupted(std::chrono::seconds(20)));
  CHECK_EQ(n_outer, 1);
}

TEST(interruption_callback_is_not_interrupted) {
  int n_looks = 0;
  const base::Interruptible interruptible(
      [](void* n) {
        CHECK(!interrupted(3 * base::Interruptible::kPeriod));
        interrupt(n);
      },
      &n_looks);
  CHECK(interrupted(std::chrono::seconds(20)));
  CHECK_EQ(n_looks, 1);
}

TEST(a_callback_is_not_interrupted) {
  int n_looks = 0;
  const base::Interruptible interruptible(&interrupt, &n_looks);
  {
    const base::Uninterruptible callback;
    CHECK(!interrupted(3 * base::Interruptible::kPeriod));
  }
  CHECK(interrupted(std::chrono::seconds(20)));
}

TEST(other_threads_are_not_interrupted) {
  int n_looks = 0;
  const base::Interruptible interruptible(&interrupt, &n_looks);
  bool other = true;
  std::thread([&] { other = interrupted(2 * base::Interruptible::kPeriod); }).join();
  CHECK(!other);
  CHECK_EQ(n_looks, 0);
}
