// Upkeep: background work for the writers, on a thread of the engine.
//
// Compacts chunks with many deleted documents (compaction.cpp) and builds graphs for partitions that have
// grown large (graphs.cpp). The thread starts on first use, calls no stemmer, blocks no other thread for more
// than a few milliseconds, changes no exact result, and ends with the engine.

#include <new>
#include <system_error>

#include "base/epoch.hpp"
#include "engine/chunk_rewrite.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {

Engine::~Engine() {
  fork_gate_.close();
  if (!maintenance_ || !maintenance_->thread.joinable()) return;
  {
    const std::lock_guard lock(maintenance_->mutex);
    maintenance_->stopped.store(true);
  }
  maintenance_->wake.notify_one();
  maintenance_->thread.join();
}

// Locks that this thread does not hold become free, even if a thread that does not exist in the child held
// them. Unfinished upkeep is dropped: the next occasion requests it again.
void Engine::restart_after_fork(bool torn) noexcept {
  if (compactor_.load() != std::this_thread::get_id()) {
    compactor_.store(std::thread::id());
    new (&compaction_mutex_) std::mutex;
  }
  new (&identity_mutex_) std::mutex;  // no stemmer is called while this lock or one of the following is held
  new (&upkeep_mutex_) std::mutex;
  new (&table_mutex_) std::mutex;
  ids_.restart_after_fork();
  if (scratch_mutex_.try_lock()) {
    scratch_mutex_.unlock();
  } else {  // the list was being changed
    new (&scratch_mutex_) std::mutex;
    new (&idle_scratch_) std::vector<std::unique_ptr<WriterScratch>>;
  }
  static_cast<void>(maintenance_.release());  // its thread does not exist here, and its mutex may be locked
  partitions_.for_each([&](Partition& partition) {
    if (partition.waits_for_upkeep.load()) partition.waits_for_upkeep.store(false);
    if (partition.in_upkeep.load()) partition.in_upkeep.store(false);
    if (torn) partition.end_publication();
  });
}

// A lack of memory or threads is not an error: the next occasion requests it again.
void Engine::keep_up(Partition& partition) noexcept {
  if (!options_.background || partition.waits_for_upkeep.load()) return;
  try {
    const std::lock_guard one_at_a_time(upkeep_mutex_);
    if (!maintenance_) maintenance_ = std::make_unique<Maintenance>();
    if (!maintenance_->thread.joinable())
      maintenance_->thread = std::thread([this, &own = *maintenance_] { maintain(own); });
    {
      const std::lock_guard lock(maintenance_->mutex);
      maintenance_->waiting.push_back(partition.scope());
      // Before the thread can take it and clear the flag, which would otherwise stay set forever.
      partition.waits_for_upkeep.store(true);
    }
    maintenance_->wake.notify_one();
  } catch (...) {
    return;
  }
}

// Called by the writer after it deleted `n_killed` documents at once. A chunk under a graph waits until most
// of it is deleted, so the thread is not notified of every deletion.
void Engine::compact_later(Partition& partition, const Chunk& chunk, uint32_t n_killed) noexcept {
  constexpr uint32_t kNowAndThen = 64;
  if (!many_are_dead(chunk)) return;
  if (partition.graph() && (chunk.n_docs() - chunk.n_live()) % kNowAndThen >= n_killed) return;
  keep_up(partition);
}

// Called by the writer occasionally (is_time_for_graphs()).
void Engine::build_graph_later(Partition& partition) noexcept {
  if (options_.background && graph_work(partition) != GraphWork::none) keep_up(partition);
}

void Engine::maintain(Maintenance& state) noexcept {
  for (;;) {
    ScopeRef scope;
    {
      std::unique_lock lock(state.mutex);
      state.wake.wait(lock, [&] { return state.stopped.load() || !state.waiting.empty(); });
      if (state.stopped.load()) return;
      scope = std::move(state.waiting.front());
      state.waiting.pop_front();
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
        const CompactionTurn one_at_a_time(*this);
        static_cast<void>(compact_partition(*scope, false, state.stopped));
      }
      if (work != GraphWork::none) static_cast<void>(make_graph(*scope, work, state.stopped));
    } catch (...) {
      // No memory for a copy or a graph: the next occasion requests it again.
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
