// Upkeep: what does the engine tidy up behind its writers, on a thread of its own?
//
// Compaction of chunks with many dead documents (compaction.cpp) and graphs over partitions that have grown
// large (graphs.cpp). The thread starts when it is first wanted, touches no stemmer, holds up nobody for
// more than a few milliseconds, changes no exact result, and ends with the engine.

#include <system_error>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "base/epoch.hpp"
#include "engine/chunk_rewrite.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {
namespace {

[[nodiscard]] int process_id() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<int>(getpid());
#else
  return 0;
#endif
}

}  // namespace

Engine::~Engine() {
  if (!maintenance_ || !maintenance_->thread.joinable()) return;
  if (maintenance_->process != process_id()) {
    maintenance_->thread.detach();
    static_cast<void>(maintenance_.release());  // its mutex may have been locked when the process forked
    return;
  }
  {
    const std::lock_guard lock(maintenance_->mutex);
    maintenance_->stopped.store(true);
  }
  maintenance_->wake.notify_one();
  maintenance_->thread.join();
}

// Failing to find memory or a thread is no error: the next occasion asks again.
void Engine::keep_up(Partition& partition) noexcept {
  if (!options_.background || partition.waits_for_upkeep.load()) return;
  try {
    if (!maintenance_) maintenance_ = std::make_unique<Maintenance>();
    if (maintenance_->thread.joinable() && maintenance_->process != process_id()) {
      maintenance_->thread.detach();
      static_cast<void>(maintenance_.release());
      maintenance_ = std::make_unique<Maintenance>();
    }
    if (!maintenance_->thread.joinable()) {
      maintenance_->process = process_id();
      maintenance_->thread = std::thread([this, &own = *maintenance_] { maintain(own); });
    }
    {
      const std::lock_guard lock(maintenance_->mutex);
      maintenance_->waiting.push_back(partition.scope());
      // Before the thread can take it up and say that it waits no more: or it would be said to wait for ever.
      partition.waits_for_upkeep.store(true);
    }
    maintenance_->wake.notify_one();
  } catch (...) {
    return;
  }
}

// The writer, after a document died. Under a graph a chunk waits until most of it is dead: the thread need
// not look after every one.
void Engine::compact_later(Partition& partition, const Chunk& chunk) noexcept {
  constexpr uint32_t kNowAndThen = 64;
  if (!many_are_dead(chunk)) return;
  if (partition.graph() && (chunk.n_docs() - chunk.n_live()) % kNowAndThen != 0) return;
  keep_up(partition);
}

// The writer, after a vector was added. Looks closely only now and then.
void Engine::build_graph_later(Partition& partition, const Chunk& chunk) noexcept {
  constexpr uint32_t kNowAndThen = 1024;
  if (!options_.background || chunk.n_docs() % kNowAndThen != 0) return;
  if (graph_work(partition) != GraphWork::none) keep_up(partition);
}

void Engine::maintain(Maintenance& own) noexcept {
  for (;;) {
    ScopeRef scope;
    {
      std::unique_lock lock(own.mutex);
      own.wake.wait(lock, [&] { return own.stopped.load() || !own.waiting.empty(); });
      if (own.stopped.load()) return;
      scope = std::move(own.waiting.front());
      own.waiting.pop_front();
    }
    try {
      GraphWork work = GraphWork::none;
      {
        const base::EpochGuard guard;
        if (Partition* partition = partitions_.find(scope->key(), scope->hash())) {
          partition->in_upkeep.store(true);
          partition->waits_for_upkeep.store(false);
          work = graph_work(*partition);
        }
      }
      {
        const std::lock_guard one_at_a_time(compaction_mutex_);
        static_cast<void>(compact_partition(*scope, false, own.stopped));
      }
      if (work != GraphWork::none) static_cast<void>(make_graph(*scope, work, own.stopped));
    } catch (...) {
      // No memory for a copy or a graph: the next occasion asks again.
    }
    {
      const base::EpochGuard guard;
      if (Partition* partition = partitions_.find(scope->key(), scope->hash()))
        partition->in_upkeep.store(false);
    }
    base::collect_retired();
  }
}

}  // namespace scrubjay::engine
