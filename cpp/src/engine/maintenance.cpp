// Erasing, looking up and counting: everything about documents that is neither an upsert nor a search.

#include "base/epoch.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {

size_t Engine::erase(const Scope& scope, bool exact) {
  // Destroyed last, when the guard is gone: what was erased leaves memory now, not some erasures later.
  struct Collect {
    ~Collect() { base::collect_retired(); }
  } const collect;
  const WriteLock lock(*this);
  const base::EpochGuard guard;
  std::vector<Partition*> erased;
  if (exact) {
    if (Partition* partition = partitions_.find(scope.key(), scope.hash())) erased.push_back(partition);
  } else {
    partitions_.for_each([&](Partition& partition) {
      if (scope.contains(*partition.scope())) erased.push_back(&partition);
    });
  }
  size_t n_erased = 0;
  for (Partition* partition : erased) {
    for (const ChunkRef& ref : partition->chunks()) {
      const Chunk& chunk = *ref.get();
      const std::unique_lock ids_lock(ids_mutex_);
      for (uint32_t offset = 0; offset < chunk.n_docs(); ++offset) {
        if (chunk.dead(offset)) continue;
        ids_.erase(chunk.id(offset).hash(), {partition, local_doc(chunk.serial(), offset)});
        ++n_erased;
      }
    }
    partitions_.remove(*partition);
  }
  return n_erased;
}

std::optional<StoredDocument> Engine::get(const Id& id) const {
  check_kind(id, "id", kOnlyRow);
  const base::EpochGuard guard;
  const std::shared_lock lock(ids_mutex_);
  const std::optional<Location> location = ids_.find(id);
  if (!location) return std::nullopt;
  return StoredDocument{ChunkRef(&location->partition->chunk_at(serial_of(location->doc))),
                        offset_of(location->doc)};
}

size_t Engine::count(const Scope* scope) const {
  if (!scope) {
    const std::shared_lock lock(ids_mutex_);
    return ids_.size();
  }
  const base::EpochGuard guard;
  size_t n = 0;
  for (const Scope::Visible* visible = scope->visible_begin(); visible != scope->visible_end(); ++visible) {
    if (const Partition* partition = partitions_.find(visible->key, visible->hash)) n += partition->n_live();
  }
  return n;
}

EngineStats Engine::stats(const Scope* scope) const {
  auto& self = const_cast<Engine&>(*this);  // counts that only writers may read: take a writer's turn
  const WriteLock lock(self);
  const base::EpochGuard guard;
  EngineStats stats;
  const auto add = [&](const Partition& partition) {
    ++stats.n_partitions;
    stats.memory_bytes += partition.memory_bytes();
    if (const PartitionGraph* graph = partition.graph()) {
      ++stats.n_graphs;
      stats.n_in_graphs += graph->graph->size();
      stats.n_graph_extensions += graph->n_extensions;
      stats.graph_bytes += graph->graph->memory_bytes();
      stats.memory_bytes += graph->graph->memory_bytes();
    }
    for (const ChunkRef& chunk : partition.chunks()) {
      ++stats.n_chunks;
      stats.n_docs += chunk->n_live();
      stats.n_dead += chunk->n_docs() - chunk->n_live();
      stats.n_vectors += chunk->n_vectors();
      stats.n_terms += chunk->postings().n_terms();
      stats.n_postings += chunk->postings().n_postings();
      stats.posting_bytes += chunk->postings().memory_bytes();
      stats.text_bytes += chunk->text_bytes();
      stats.vector_bytes += chunk->vector_bytes();
      stats.memory_bytes += chunk->memory_bytes();
    }
  };
  if (scope) {
    for (const Scope::Visible* visible = scope->visible_begin(); visible != scope->visible_end(); ++visible) {
      if (const Partition* partition = partitions_.find(visible->key, visible->hash)) add(*partition);
    }
  } else {
    partitions_.for_each(add);
    const std::shared_lock ids_lock(ids_mutex_);
    stats.memory_bytes += ids_.memory_bytes() + partitions_.memory_bytes();
  }
  return stats;
}

}  // namespace scrubjay::engine
