// Erasing, looking up and counting: operations on documents other than upserts and searches.

#include <span>

#include "base/epoch.hpp"
#include "base/interruption.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {

size_t Engine::erase(const Scope& scope, bool exact) {
  // Destroyed after the guard, so that erased data is freed now and not some erasures later.
  struct Collect {
    ~Collect() { base::collect_retired(); }
  } const collect;
  const Writing writing(*this);  // calls no stemmer
  const base::ForkGate::Inside inside(fork_gate_);
  const base::EpochGuard guard;
  std::vector<Partition*> erased;
  PartitionTurns turns;
  do {
    erased.clear();
    if (exact) {
      if (Partition* partition = partitions_.find(scope.key(), scope.hash())) erased.push_back(partition);
    } else {
      partitions_.for_each([&](Partition& partition) {
        if (scope.contains(*partition.scope())) erased.push_back(&partition);
      });
    }
  } while (!turns.take(erased));
  size_t n_erased = 0;
  for (Partition* partition : erased) {
    base::interruption_point();  // erased partitions stay erased
    // From here on, searches whose snapshot has the partition do not trust the id index about it.
    partition->set_ids_lag(true);
    {
      const Partition::Publication publication(*partition);
    }
    size_t n_docs = 0;
    for (const ChunkRef& chunk : partition->chunks()) n_docs += chunk->n_live();
    n_erased += n_docs;
    const bool deferred = ids_.forget_deferred(*partition, n_docs);
    for (const ChunkRef& ref : deferred ? std::span<const ChunkRef>() : partition->chunks()) {
      const Chunk& chunk = *ref.get();
      for (uint32_t offset = 0; offset < chunk.n_docs(); ++offset) {
        if (chunk.dead(offset)) continue;
        ids_.erase(chunk.id(offset), {partition, local_doc(chunk.serial(), offset)});
      }
    }
    take_from_table(*partition);
  }
  return n_erased;
}

std::optional<StoredDocument> Engine::get(const Id& id, const Scope& scope) const {
  check_kind(id, "id", kOnlyRow);
  const base::EpochGuard guard;
  std::optional<StoredDocument> document;
  for (uint32_t i = 0; i < scope.n_visible() && !document; ++i) {
    const Scope::Visible& visible = scope.by_specificity(i);
    const Partition* partition = partitions_.find(visible.key, visible.hash);
    if (!partition) continue;
    ids_.look_up(*partition, id, [&](const Location& location) {
      const Chunk& chunk = partition->chunk_at(serial_of(location.doc));
      const uint32_t offset = offset_of(location.doc);
      if (offset < chunk.snapshot().n_docs) document = StoredDocument{ChunkRef(&chunk), offset};
    });
  }
  return document;
}

size_t Engine::count(const Scope* scope) const {
  if (!scope) return ids_.size();
  const base::EpochGuard guard;
  size_t n = 0;
  for (const Scope::Visible* visible = scope->visible_begin(); visible != scope->visible_end(); ++visible) {
    if (const Partition* partition = partitions_.find(visible->key, visible->hash)) n += partition->n_live();
  }
  return n;
}

EngineStats Engine::stats(const Scope* scope) const {
  const base::EpochGuard guard;
  EngineStats stats;
  const auto add = [&](Partition& listed) {
    const PartitionTurn turn(*this, listed);  // counts that only writers may read
    if (!turn.get()) return;
    const Partition& partition = *turn.get();
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
      if (Partition* partition = partitions_.find(visible->key, visible->hash)) add(*partition);
    }
  } else {
    partitions_.for_each(add);
    stats.memory_bytes += ids_.memory_bytes() + partitions_.memory_bytes();
  }
  return stats;
}

}  // namespace scrubjay::engine
