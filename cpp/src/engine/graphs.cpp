// Graphs: when a graph is built for a partition, extended, or rebuilt.
//
// All of it is concurrent with searches and writes: published data is read as by a search, and the
// partition's turn is held only to install the graph. A graph is dropped when a chunk that it covers is
// rewritten. It is stored with the images of its chunks (graph_image.hpp), so that loading them does not
// rebuild it.

#include <bit>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "base/interruption.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/graph_trial.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {
namespace {

// Number of deleted documents among the first `n_docs`.
[[nodiscard]] uint64_t n_dead_among(const base::Bitmap& dead, uint32_t n_docs) noexcept {
  uint64_t n = 0;
  for (uint32_t i = 0; i < n_docs / 64; ++i) n += static_cast<uint64_t>(std::popcount(dead.word(i)));
  const uint64_t rest = dead.word(n_docs / 64) & ((uint64_t{1} << (n_docs % 64)) - 1);
  return n + static_cast<uint64_t>(std::popcount(rest));
}

}  // namespace

size_t Engine::build_graphs(size_t min_vectors, bool anew) {
  size_t n_built = 0;
  std::vector<ScopeRef> scopes;
  {
    const base::EpochGuard guard;
    partitions_.for_each([&](Partition& partition) {
      size_t n_vectors = 0;
      for (const ChunkRef& chunk : partition.chunks()) n_vectors += chunk->n_vectors();
      if (n_vectors >= min_vectors) scopes.push_back(partition.scope());
    });
  }
  const std::atomic<bool> never{false};
  const GraphWork work = anew ? GraphWork::build : GraphWork::extend;
  for (const ScopeRef& scope : scopes) n_built += make_graph(*scope, work, never) ? 1 : 0;
  return n_built;
}

// Whether searching a graph would often be cheaper than scanning codes, and what the current graph, if any,
// lacks. Under an epoch guard.
Engine::GraphWork Engine::graph_work(const Partition& partition) const noexcept {
  const PartitionGraph* graph = partition.graph();
  const size_t n_covering = graph ? graph->chunks.size() : 0;
  uint64_t n_beside = 0, n_dead = 0, bytes = 0;
  size_t c = 0;
  for (const ChunkRef& chunk : partition.chunks()) {
    const ChunkSnapshot snapshot = chunk->snapshot();
    const uint32_t covered = c < n_covering ? std::min(graph->graph->n_covered(c), snapshot.n_docs) : 0;
    ++c;
    if (snapshot.dead) n_dead += n_dead_among(*snapshot.dead, covered);
    const vector::Column* column = chunk->vectors();
    if (!column || !column->codes()) continue;
    if (can_be_covered(snapshot.n_docs, options_.chunk_docs)) n_beside += snapshot.n_docs - covered;
    bytes += uint64_t{snapshot.n_live} * vector::code_bytes(column->options().dim);
  }
  if (bytes < options_.graph_bytes || (!graph && n_beside == 0)) return GraphWork::none;
  if (!graph) return GraphWork::build;
  const uint64_t n_held = graph->graph->size();
  if (n_dead > graph->n_left_out && (n_dead - graph->n_left_out) * planner::kDeadShare > n_held)
    return GraphWork::build;
  return n_beside * planner::kBesideShare > n_held ? GraphWork::extend : GraphWork::none;
}

GraphState Engine::graph_state(const Scope& scope) const {
  const base::EpochGuard guard;
  const Partition* partition = partitions_.find(scope.key(), scope.hash());
  if (!partition) return GraphState::none;
  const bool pending = partition->waits_for_upkeep.load() || partition->in_upkeep.load();
  if (!partition->graph()) return pending ? GraphState::coming : GraphState::none;
  return pending && graph_work(*partition) != GraphWork::none ? GraphState::growing : GraphState::built;
}

// Builds a graph if there is none to extend. Returns false if it was stopped or the chunks changed.
bool Engine::make_graph(const Scope& scope, GraphWork work, const std::atomic<bool>& stopped) {
  auto partition_graph = std::make_unique<PartitionGraph>();
  std::shared_ptr<const vector::Graph> old;
  std::vector<const vector::Column*> columns;
  std::vector<uint32_t> n_docs;
  std::vector<base::Bitmap>
      dead;  // copies, so that no deletion happens between leaving documents out and counting them
  uint64_t n_left_out = 0;
  {
    const base::EpochGuard guard;
    const Partition* partition = partitions_.find(scope.key(), scope.hash());
    if (!partition) return false;
    const PartitionGraph* in_place = nullptr;
    std::vector<ChunkSnapshot> snapshots;
    partition->read_consistently([&] {
      // Load it once: the list may be replaced between two loads.
      const std::span<const ChunkRef> chunks = partition->chunks();
      partition_graph->chunks.assign(chunks.begin(), chunks.end());
      in_place = partition->graph();
      snapshots.clear();
      for (const ChunkRef& chunk : chunks) snapshots.push_back(chunk->snapshot());
    });
    if (work == GraphWork::extend && in_place) {
      old = in_place->graph;
      partition_graph->n_extensions = in_place->n_extensions + 1;
      partition_graph->n_left_out = in_place->n_left_out;
    }
    for (size_t c = 0; c < snapshots.size(); ++c) {
      const ChunkSnapshot& snapshot = snapshots[c];
      const bool covered = can_be_covered(snapshot.n_docs, options_.chunk_docs);
      columns.push_back(covered ? snapshot.chunk->vectors() : nullptr);
      n_docs.push_back(covered ? snapshot.n_docs : 0);
      dead.push_back(snapshot.dead ? base::Bitmap(*snapshot.dead, snapshot.n_docs) : base::Bitmap());
      n_left_out += n_dead_among(dead[c], n_docs[c]);
      // Documents that were deleted after they entered the extended graph stay in it.
      if (old) n_left_out -= n_dead_among(dead[c], old->n_covered(c));
    }
    partition_graph->n_left_out += n_left_out;
  }
  const auto cancelled = [&] {
    base::interruption_point();
    return stopped.load(std::memory_order_relaxed);
  };
  const auto admits = [&](uint32_t doc) { return !dead[doc >> 16].test(doc & 0xffffu); };
  if (old) partition_graph->graph = old->extend(columns, n_docs, cancelled, admits);
  if (!partition_graph->graph && !cancelled()) {
    for (size_t c = 0; old && c < dead.size(); ++c) n_left_out += n_dead_among(dead[c], old->n_covered(c));
    partition_graph->n_left_out = n_left_out;
    partition_graph->n_extensions = 0;
    partition_graph->graph = vector::Graph::build(columns, n_docs, {}, cancelled, admits);
  }
  if (!partition_graph->graph) return false;
  (void)partition_graph->graph->use_huge_pages(columns);
  partition_graph->scales = tried(*partition_graph->graph, columns, n_docs, dead, cancelled);
  return place_graph(scope, std::move(partition_graph));
}

bool Engine::place_graph(const Scope& scope, std::unique_ptr<PartitionGraph> partition_graph) {
  const PartitionTurn turn(*this, scope.key(), scope.hash());
  Partition* partition = turn.get();
  if (!partition || partition->n_chunks() < partition_graph->chunks.size()) return false;
  for (size_t c = 0; c < partition_graph->chunks.size(); ++c) {
    if (partition->chunks()[c].get() != partition_graph->chunks[c].get())
      return false;  // rewritten meanwhile
  }
  std::unique_ptr<PartitionGraph> replaced;
  {
    const Partition::Publication publication(*partition);
    replaced = partition->replace_graph(std::move(partition_graph));
  }
  base::retire(std::move(replaced));
  return true;
}

}  // namespace scrubjay::engine
