#include "engine/id_index.hpp"

namespace scrubjay::engine {

// One thread enters the ids; other lookups in the partition wait for it and for nothing else.
void IdIndex::enter_all(const Partition& partition) const {
  using Ids = Partition::Ids;
  std::optional<base::ForkGate::Inside> inside;  // no forked child has a partition half entered
  if (!gate_.inside()) inside.emplace(gate_);
  std::atomic<Ids>& state = partition.ids();
  for (Ids current = Ids::deferred;
       !state.compare_exchange_strong(current, Ids::entering, std::memory_order_acq_rel);
       current = Ids::deferred) {
    if (current != Ids::entering) return;
    state.wait(current, std::memory_order_acquire);
  }
  const auto settle = [&](Ids settled) {
    state.store(settled, std::memory_order_release);
    state.notify_all();
  };
  auto* const owner = const_cast<Partition*>(&partition);  // writers use the entries, too
  size_t n_entered = 0;
  const auto for_each = [&](auto&& visit) {
    for (const ChunkRef& chunk : partition.chunks()) {
      for (uint32_t offset = 0; offset < chunk->n_docs(); ++offset)
        if (!visit(chunk->id(offset), Location{owner, local_doc(chunk->serial(), offset)})) return;
    }
  };
  try {
    for_each([&](const Id& id, const Location& location) {
      (void)enter(id, location);  // ids are distinct
      ++n_entered;
      return true;
    });
  } catch (...) {
    for_each([&](const Id& id, const Location& location) {
      if (n_entered-- == 0) return false;
      const uint64_t hash = hash_of(partition, id);
      Shard& shard = shard_of(hash);
      const std::unique_lock lock(shard.mutex);
      shard.map.erase(hash, location);
      return true;
    });
    settle(Ids::deferred);
    throw;
  }
  settle(Ids::entered);
}

}  // namespace scrubjay::engine
