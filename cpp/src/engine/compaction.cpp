// Compaction: removes deleted documents from memory without blocking searches or writers.
//
// A chunk with many deleted documents is copied without them, concurrently with searches and writes
// (chunk_rewrite.hpp), and replaced in one publication, for which writers of the partition wait some
// milliseconds (and all id lookups wait while those of a full chunk get their new locations). Neighbours that
// fit into one chunk are merged. compact() does this for all deleted documents, on the caller's thread; in
// the background (EngineOptions::background) a thread of the engine does it for chunks with a sixth of
// deleted documents (upkeep.cpp).

#include <algorithm>

#include "base/epoch.hpp"
#include "engine/chunk_rewrite.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {
namespace {

[[nodiscard]] uint32_t n_dead(const Chunk& chunk) noexcept { return chunk.n_docs() - chunk.n_live(); }

// An upper bound, since it includes passages of deleted documents; only a full chunk has many.
[[nodiscard]] uint32_t passages_of(const Chunk& chunk) noexcept {
  const vector::Passages* passages = chunk.passages();
  return passages ? passages->n_rows() : 0;
}

// Returns the next neighbours, from serial number `from` on, that are worth merging into one chunk; empty if
// there are none. Thoroughly: all chunks with deleted documents. Chunks that a graph covers (which would be
// dropped with them) wait until most of a chunk is deleted.
std::vector<ChunkRef> choose(const Partition& partition, uint64_t from, uint32_t chunk_docs,
                             bool thoroughly) {
  const std::span<const ChunkRef> chunks = partition.chunks();
  const PartitionGraph* graph = partition.graph();
  const size_t n_covered = graph ? graph->chunks.size() : 0;
  std::vector<ChunkRef> chosen;
  for (size_t first = 0; first < chunks.size(); ++first) {
    const Chunk& chunk = *chunks[first].get();
    if (chunk.serial() < from) continue;
    const bool wanted =
        thoroughly ? n_dead(chunk) != 0
                   : many_are_dead(chunk) && (first >= n_covered || n_dead(chunk) > chunk.n_docs() / 3 * 2);
    if (!wanted) continue;
    uint64_t n_live = chunk.n_live();
    uint64_t n_passages = passages_of(chunk);
    chosen.push_back(chunks[first]);
    for (size_t next = first + 1; next < chunks.size(); ++next) {
      const Chunk& neighbour = *chunks[next].get();
      const bool open = next + 1 == chunks.size() && neighbour.n_docs() < chunk_docs;
      const bool small = thoroughly || (neighbour.n_live() <= chunk_docs / 2 && next >= n_covered);
      // The open chunk may fill up meanwhile.
      const uint64_t n_more = open ? chunk_docs - n_dead(neighbour) : neighbour.n_live();
      if (!small || n_live + n_more > chunk_docs) break;
      n_passages += passages_of(neighbour);
      if (n_passages != 0 && (open || n_passages > vector::Passages::kMaxRows)) break;
      n_live += n_more;
      chosen.push_back(chunks[next]);
    }
    break;
  }
  return chosen;
}

}  // namespace

size_t Engine::compact() {
  const Writing writing(*this);  // calls no stemmer
  const CompactionTurn one_at_a_time(*this);
  std::vector<ScopeRef> scopes;
  {
    const base::EpochGuard guard;
    partitions_.for_each([&](Partition& partition) {
      const std::span<const ChunkRef> chunks = partition.chunks();
      if (chunks.empty() || std::any_of(chunks.begin(), chunks.end(),
                                        [](const ChunkRef& chunk) { return n_dead(*chunk.get()) != 0; }))
        scopes.push_back(partition.scope());
    });
  }
  const std::atomic<bool> never{false};
  size_t n_dropped = 0;
  for (const ScopeRef& scope : scopes) n_dropped += compact_partition(*scope, true, never);
  base::collect_retired();
  return n_dropped;
}

// Holds compaction_mutex_. Returns the number of deleted documents that were purged.
size_t Engine::compact_partition(const Scope& scope, bool thoroughly, const std::atomic<bool>& stopped) {
  constexpr size_t kFew = 64;  // documents that may be left to copy while writers wait
  constexpr int kMaxRounds = 20;
  size_t n_dropped = 0;
  for (uint64_t from = 0;;) {
    std::vector<ChunkRef> chosen;
    {
      const base::EpochGuard guard;
      const Partition* partition = partitions_.find(scope.key(), scope.hash());
      if (!partition) return n_dropped;
      if (partition->n_live() == 0) {
        const size_t n_gone = drop_if_empty(scope);
        if (n_gone != 0) return n_dropped + n_gone;
      }
      chosen = choose(*partition, from, options_.chunk_docs, thoroughly);
    }
    if (chosen.empty()) return n_dropped;
    from = chosen.back()->serial() + 1;
    ChunkRewrite rewrite(std::move(chosen), column_options(), options_.chunk_docs);
    for (int round = 0; round < kMaxRounds && rewrite.copy(stopped) > kFew; ++round) {
    }
    if (stopped.load(std::memory_order_relaxed)) return n_dropped;
    n_dropped += replace_chunks(scope, rewrite);
  }
}

// Drops a partition without live documents.
size_t Engine::drop_if_empty(const Scope& scope) {
  const PartitionTurn turn(*this, scope.key(), scope.hash());
  Partition* partition = turn.get();
  if (!partition || partition->n_live() != 0) return 0;
  size_t n_docs = 0;
  for (const ChunkRef& chunk : partition->chunks()) n_docs += chunk->n_docs();
  take_from_table(*partition);
  return n_docs;
}

// Replaces the copied chunks by the copy, unless they are gone.
size_t Engine::replace_chunks(const Scope& scope, ChunkRewrite& rewrite) {
  const PartitionTurn turn(*this, scope.key(), scope.hash());
  Partition* partition = turn.get();
  if (!partition) return 0;
  const std::span<const ChunkRef> chunks = partition->chunks();
  const std::vector<ChunkRef>& old = rewrite.old();
  const auto same = [](const ChunkRef& a, const ChunkRef& b) { return a.get() == b.get(); };
  const auto first = std::search(chunks.begin(), chunks.end(), old.begin(), old.end(), same);
  if (first == chunks.end()) return 0;  // erased meanwhile
  if (!rewrite.finish()) return 0;
  ids_.enter_deferred(*partition);

  std::vector<ChunkRef> left(chunks.begin(), first);
  if (rewrite.target()->n_docs() != 0) left.push_back(rewrite.target());
  left.insert(left.end(), first + static_cast<std::ptrdiff_t>(old.size()), chunks.end());
  std::unique_ptr<ChunkList> list = ChunkList::of(left);
  size_t n_gone = 0;
  for (const ChunkRef& chunk : old) n_gone += chunk->n_docs();
  n_gone -= rewrite.target()->n_docs();

  // Everything slow happens before id lookups are blocked. Moves are ordered by shard, and ascending within a
  // shard: no document moves to a location that another one with the same hash has yet to leave.
  struct Moved {
    uint64_t hash;
    LocalDoc from, to;
  };
  std::vector<Moved> moved;
  moved.reserve(rewrite.target()->n_live());
  const uint64_t serial = rewrite.target()->serial();
  rewrite.for_each_live([&](const Chunk& chunk, uint32_t offset, uint32_t doc) {
    moved.push_back({key_hash(*partition->scope(), chunk.id(offset).hash()),
                     local_doc(chunk.serial(), offset), local_doc(serial, doc)});
  });
  std::stable_sort(moved.begin(), moved.end(), [](const Moved& a, const Moved& b) {
    return IdIndex::shard_number(a.hash) < IdIndex::shard_number(b.hash);
  });

  const PartitionGraph* graph = partition->graph();
  const bool covered = graph && static_cast<size_t>(first - chunks.begin()) < graph->chunks.size();
  std::unique_ptr<ChunkList> replaced;
  std::unique_ptr<PartitionGraph> old_graph;
  {
    IdIndex::Move ids(ids_);
    {
      const Partition::Publication publication(*partition);
      replaced = partition->replace_chunks(std::move(list));
      if (covered) old_graph = partition->replace_graph(nullptr);
    }
    for (const Moved& move : moved) ids.move(move.hash, {partition, move.from}, move.to);
  }
  base::retire(std::move(old_graph));
  base::retire(std::move(replaced));
  return n_gone;
}

}  // namespace scrubjay::engine
