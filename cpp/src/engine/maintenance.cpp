// Erasing, building graphs, looking up and counting: everything about documents that is neither an upsert nor
// a search.

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

size_t Engine::build_graphs(size_t min_vectors) {
  size_t n_built = 0;
  std::vector<ScopeRef> scopes;
  {
    const WriteLock lock(*this);
    const base::EpochGuard guard;
    partitions_.for_each([&](Partition& partition) {
      size_t n_vectors = 0;
      for (const ChunkRef& chunk : partition.chunks()) n_vectors += chunk->n_vectors();
      if (n_vectors >= min_vectors) scopes.push_back(partition.scope());
    });
  }
  const std::atomic<bool> never{false};
  for (const ScopeRef& scope : scopes) n_built += build_graph(*scope, never) ? 1 : 0;
  return n_built;
}

// Whether a search of a graph would often be cheaper than scanning codes, and the graph in place, if any, is
// outgrown: much was written beside it, or much of what it holds is dead. Under an epoch guard.
bool Engine::graph_wanted(const Partition& partition) const noexcept {
  const PartitionGraph* graph = partition.graph();
  const size_t n_covering = graph ? graph->chunks.size() : 0;
  uint64_t n_vectors = 0, n_beside = 0, n_dead = 0, bytes = 0;
  size_t c = 0;
  for (const ChunkRef& chunk : partition.chunks()) {
    const ChunkSnapshot snapshot = chunk->snapshot();
    const uint32_t covered = c < n_covering ? std::min(graph->graph->n_covered(c), snapshot.n_docs) : 0;
    ++c;
    const vector::Column* column = chunk->vectors();
    if (!column || !column->codes()) continue;
    n_vectors += snapshot.n_live;
    n_beside += snapshot.n_docs - covered;
    n_dead += snapshot.n_docs - snapshot.n_live;
    bytes += uint64_t{snapshot.n_live} * vector::code_bytes(column->options().dim);
  }
  if (bytes < options_.graph_bytes) return false;
  return (n_beside + n_dead) * planner::kOutgrownShare > n_vectors;
}

// Reads published vectors only, so writers and searches go on; the write lock is held to put the graph in its
// place.
bool Engine::build_graph(const Scope& scope, const std::atomic<bool>& stopped) {
  auto built = std::make_unique<PartitionGraph>();
  std::vector<const vector::Column*> columns;
  std::vector<uint32_t> n_docs;
  {
    const base::EpochGuard guard;
    const Partition* partition = partitions_.find(scope.key(), scope.hash());
    if (!partition) return false;
    partition->read_consistently([&] {
      const std::span<const ChunkRef> chunks =
          partition->chunks();  // once: the list may be replaced between two loads
      built->chunks.assign(chunks.begin(), chunks.end());
    });
    for (const ChunkRef& chunk : built->chunks) {
      const ChunkSnapshot snapshot = chunk->snapshot();
      // The rows of a chunk that is still small may move: they are left to the scan.
      const bool stays = snapshot.n_docs >= std::min(base::RowBlocks::kRowsPerBlock, options_.chunk_docs);
      columns.push_back(stays ? chunk->vectors() : nullptr);
      n_docs.push_back(stays ? snapshot.n_docs : 0);
    }
  }
  built->graph =
      vector::Graph::build(columns, n_docs, {}, [&] { return stopped.load(std::memory_order_relaxed); });
  if (!built->graph) return false;
  const WriteLock lock(*this);
  const base::EpochGuard guard;
  Partition* partition = partitions_.find(scope.key(), scope.hash());
  if (!partition || partition->n_chunks() < built->chunks.size()) return false;
  for (size_t c = 0; c < built->chunks.size(); ++c) {
    if (partition->chunks()[c].get() != built->chunks[c].get()) return false;  // rewritten meanwhile
  }
  std::unique_ptr<PartitionGraph> replaced;
  {
    const Partition::Publication publication(*partition);
    replaced = partition->replace_graph(std::move(built));
  }
  base::retire(std::move(replaced));
  return true;
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
