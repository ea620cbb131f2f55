// A retired object is kept while a reader may hold it, and freed once none can.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"

using namespace scrubjay::base;

namespace {

std::atomic<int> n_alive{0};

struct Counted {
  Counted() { ++n_alive; }
  ~Counted() {
    value = -1;
    --n_alive;
  }
  int value = 0;
};

// A thread that pins an epoch until it is told to release it.
class PinnedThread {
 public:
  PinnedThread()
      : thread_([this] {
          const EpochGuard guard;
          pinned_.store(true);
          pinned_.notify_all();
          release_.wait(false);
        }) {
    pinned_.wait(false);
  }
  void release() {
    if (!thread_.joinable()) return;
    release_.store(true);
    release_.notify_all();
    thread_.join();
  }
  ~PinnedThread() { release(); }

 private:
  std::atomic<bool> pinned_{false}, release_{false};
  std::thread thread_;
};

}  // namespace

TEST(epoch_frees_nothing_while_a_reader_is_pinned) {
  collect_retired();
  CHECK_EQ(n_retired(), 0);
  PinnedThread reader;
  for (int i = 0; i < 200; ++i) retire(std::make_unique<Counted>());  // collects occasionally
  collect_retired();
  CHECK_EQ(n_alive.load(), 200);
  CHECK_EQ(n_retired(), 200);
  reader.release();
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
  CHECK_EQ(n_retired(), 0);
}

TEST(epoch_frees_what_was_retired_before_a_reader_pinned) {
  collect_retired();
  retire(std::make_unique<Counted>());
  PinnedThread reader;
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
  retire(std::make_unique<Counted>());
  collect_retired();
  CHECK_EQ(n_alive.load(), 1);
  reader.release();
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
}

TEST(epoch_guards_nest) {
  collect_retired();
  {
    const EpochGuard outer;
    {
      const EpochGuard inner;
    }
    retire(std::make_unique<Counted>());
    collect_retired();
    CHECK_EQ(n_alive.load(), 1);  // the end of the inner guard did not unpin
  }
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
}

TEST(epoch_retire_collects_on_its_own) {
  collect_retired();
  for (int i = 0; i < 1000; ++i) retire(std::make_unique<Counted>());
  CHECK(n_retired() <= 64);
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
}

TEST(epoch_retiring_nothing_is_nothing) {
  collect_retired();
  retire(std::unique_ptr<Counted>());
  CHECK_EQ(n_retired(), 0);
}

TEST(epoch_a_destructor_may_retire) {
  struct Nested {
    ~Nested() { retire(std::make_unique<Counted>()); }
  };
  collect_retired();
  retire(std::make_unique<Nested>());
  collect_retired();
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
  CHECK_EQ(n_retired(), 0);
}

TEST(epoch_threads_may_come_and_go) {
  collect_retired();
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 10; ++i) {
          const EpochGuard guard;
          retire(std::make_unique<Counted>());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
  CHECK_EQ(n_retired(), 0);
}

// The intended use: a published pointer that is replaced repeatedly under readers that follow it.
TEST(epoch_protects_a_published_pointer) {
  collect_retired();
  std::atomic<Counted*> published{new Counted};
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      int last = 0;
      while (!done.load()) {
        const EpochGuard guard;
        const int value = published.load(std::memory_order_acquire)->value;
        CHECK(value >= last);  // -1 after destruction
        last = value;
      }
    });
  }
  for (int i = 1; i <= 20'000; ++i) {
    auto next = std::make_unique<Counted>();
    next->value = i;
    retire(std::unique_ptr<Counted>(published.exchange(next.release())));
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  retire(std::unique_ptr<Counted>(published.exchange(nullptr)));
  collect_retired();
  CHECK_EQ(n_alive.load(), 0);
  CHECK_EQ(n_retired(), 0);
}
