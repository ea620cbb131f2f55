#include "base/fork.hpp"

#include <array>
#include <mutex>
#include <new>
#include <thread>

#include "base/errors.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace scrubjay::base {
namespace {

constexpr size_t kOrders = 3;
std::array<std::atomic<const ForkHandlers*>, kOrders> all_handlers{};

#if !defined(_WIN32)
template <auto handler>
void call(size_t order) noexcept {
  if (const ForkHandlers* handlers = all_handlers[order].load(std::memory_order_acquire))
    (handlers->*handler)();
}
void call_before() noexcept {
  for (size_t order = 0; order < kOrders; ++order) call<&ForkHandlers::before>(order);
}
void call_in_parent() noexcept {
  for (size_t order = kOrders; order-- > 0;) call<&ForkHandlers::in_parent>(order);
}
void call_in_child() noexcept {
  for (size_t order = kOrders; order-- > 0;) call<&ForkHandlers::in_child>(order);
}
#endif

constinit thread_local ForkGate::Inside* innermost = nullptr;

}  // namespace

void at_fork(ForkOrder order, const ForkHandlers& handlers) {
  all_handlers[static_cast<size_t>(order)].store(new ForkHandlers(handlers), std::memory_order_release);
#if !defined(_WIN32)
  static const int registered = pthread_atfork(call_before, call_in_parent, call_in_child);
  static_cast<void>(registered);
#endif
}

// All gates of the process. Never destroyed: threads may outlive static destruction.
struct ForkGates {
  std::mutex mutex;  // guards the list; held during a fork
  ForkGate* first = nullptr;
  std::atomic<bool> forking{false};

  static ForkGates& all() {
    static ForkGates* const gates = [] {
      auto* list = new ForkGates;
      at_fork(ForkOrder::gates, {[]() noexcept { all().before(); }, []() noexcept { all().in_parent(); },
                                 []() noexcept { all().in_child(); }});
      return list;
    }();
    return *gates;
  }

  void before() noexcept {
    mutex.lock();
    forking.store(true);
    const auto end = std::chrono::steady_clock::now() + ForkGate::kLongestWait;
    for (ForkGate* gate = first; gate; gate = gate->next_) {
      while (others_inside(*gate) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  void in_parent() noexcept {
    forking.store(false);
    mutex.unlock();
  }
  void in_child() noexcept {
    for (ForkGate* gate = first; gate; gate = gate->next_) {
      gate->torn_ = gate->torn_ || others_inside(*gate);
      gate->n_inside_.store(gate->inside() ? 1 : 0);
      gate->in_child_(gate->owner_, gate->torn_);
    }
    forking.store(false);
    new (&mutex) std::mutex;
  }
  [[nodiscard]] static bool others_inside(const ForkGate& gate) noexcept {
    return gate.n_inside_.load() > (gate.inside() ? 1u : 0u);
  }

  // Must not be called inside a gate, which a fork waits for.
  void wait_for_fork() const noexcept {
    while (forking.load()) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
};

ForkGate::ForkGate(void* owner, InChild in_child) : owner_(owner), in_child_(in_child) {
  ForkGates& gates = ForkGates::all();
  const std::lock_guard lock(gates.mutex);
  next_ = gates.first;
  if (next_) next_->previous_ = this;
  gates.first = this;
}

void ForkGate::close() noexcept {
  if (closed_) return;
  closed_ = true;
  ForkGates& gates = ForkGates::all();
  const std::lock_guard lock(gates.mutex);
  if (next_) next_->previous_ = previous_;
  (previous_ ? previous_->next_ : gates.first) = next_;
}

bool ForkGate::inside() const noexcept {
  for (const Inside* at = innermost; at; at = at->outer_) {
    if (&at->gate_ == this) return true;
  }
  return false;
}

ForkGate::Inside::Inside(ForkGate& gate) : gate_(gate), outer_(innermost) {
  if (gate.inside()) throw Error("a stemmer or signal handler may not use the engine that it interrupts");
  if (gate.torn_)
    throw Error(
        "the engine cannot be written in this process: another thread was writing when the process forked");
  const ForkGates& gates = ForkGates::all();
  for (;;) {
    gate.n_inside_.fetch_add(1);
    if (outer_ || !gates.forking.load()) break;
    gate.n_inside_.fetch_sub(1);
    gates.wait_for_fork();
  }
  innermost = this;
}

ForkGate::Inside::~Inside() {
  innermost = outer_;
  gate_.n_inside_.fetch_sub(1);
}

}  // namespace scrubjay::base
