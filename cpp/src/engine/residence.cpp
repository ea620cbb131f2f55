// Partitions that are loaded and evicted as images, while a store keeps their documents: writing images,
// reading them, and digests to compare partitions.

#include <bit>
#include <optional>
#include <vector>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/image.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {
namespace {

// Whether the documents of chunks without a writer have distinct ids. Ascending ids, as numbers often are,
// need no table.
[[nodiscard]] bool have_distinct_ids(std::span<const ChunkRef> chunks, size_t n_docs) {
  bool ascends = true;
  std::optional<int64_t> previous;
  for (const ChunkRef& chunk : chunks) {
    for (uint32_t offset = 0; offset < chunk->n_docs() && ascends; ++offset) {
      const Id id = chunk->id(offset);
      ascends = id.kind == IdKind::integer && (!previous || *previous < id.integer);
      previous = id.integer;
    }
  }
  if (ascends) return true;
  struct Seen {
    uint32_t hash;
    uint32_t doc;  // 1 + position over all chunks
  };
  const size_t n_slots = std::bit_ceil(2 * n_docs);
  std::vector<Seen> seen(n_slots);
  const auto id_at = [&](uint32_t doc) {
    size_t chunk = 0;
    for (; doc >= chunks[chunk]->n_docs(); ++chunk) doc -= chunks[chunk]->n_docs();
    return chunks[chunk]->id(doc);
  };
  uint32_t doc = 0;
  for (const ChunkRef& chunk : chunks) {
    base::interruption_point();
    for (uint32_t offset = 0; offset < chunk->n_docs(); ++offset, ++doc) {
      const Id id = chunk->id(offset);
      const uint64_t hash = id.hash();  // seeded per process: colliding ids cannot be constructed
      size_t slot = hash & (n_slots - 1);
      for (; seen[slot].doc != 0; slot = (slot + 1) & (n_slots - 1)) {
        if (seen[slot].hash == hash >> 32 && id_at(seen[slot].doc - 1) == id) return false;
      }
      seen[slot] = {static_cast<uint32_t>(hash >> 32), doc + 1};
    }
  }
  return true;
}

}  // namespace

ImageIdentity Engine::image_identity() const noexcept {
  return {column_options(), analyzer_.name(), id_kind()};
}

std::vector<std::string> Engine::save_partition(const Scope& scope) const {
  std::vector<std::string> images;
  std::optional<GraphKeeping> graph;
  {
    const PartitionTurn turn(*this, scope.key(), scope.hash());  // images read what only writers may
    const Partition* partition = turn.get();
    if (!partition) return images;
    for (const ChunkRef& chunk : partition->chunks()) {
      if (chunk->n_live() != 0) images.push_back(write_image(*chunk.get(), image_identity()));
    }
    if (partition->graph()) graph.emplace(*partition->graph(), partition->chunks(), options_.chunk_docs);
  }
  if (graph) {
    std::string image = graph->write(images);
    if (!image.empty()) images.push_back(std::move(image));
  }
  return images;
}

// The chunks of a partition that were read from images.
struct Engine::LoadedImages {
  std::vector<ChunkRef> chunks;
  std::vector<std::string_view> of_chunks;  // or the headers of their images
  std::string_view of_graph;

  void add(ChunkRef chunk, std::string_view bytes) {
    of_chunks.push_back(bytes);
    chunks.push_back(std::move(chunk));
  }
};

size_t Engine::load_partition(const ScopeRef& scope, std::span<const std::string_view> images) {
  const ImageIdentity identity = image_identity();
  LoadedImages loaded;
  for (const std::string_view bytes : images) {
    if (is_graph_image(bytes)) {
      loaded.of_graph = bytes;
    } else {
      loaded.add(read_image(bytes, scope, identity), bytes);
    }
  }
  return install(scope, loaded);
}

size_t Engine::load_partition(const ScopeRef& scope, std::span<ArrivingImage> images) {
  const ImageIdentity identity = image_identity();
  LoadedImages loaded;
  for (ArrivingImage& image : images) {
    if (is_graph_image(image.collected())) {
      loaded.of_graph = image.collected();
    } else {
      loaded.add(image.chunk(scope, identity), image.collected());
    }
  }
  return install(scope, loaded);
}

size_t Engine::install(const ScopeRef& scope, LoadedImages& images) {
  const std::vector<ChunkRef>& chunks = images.chunks;
  size_t n_docs = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    auto* chunk = const_cast<Chunk*>(chunks[i].get());
    chunk->limit(options_.chunk_docs);
    chunk->number(i);
    chunk->number_writes(next_write_.fetch_add(chunk->n_docs(), std::memory_order_relaxed));
    n_docs += chunk->n_docs();
  }
  if (chunks.empty()) return 0;
  if (n_docs > 0xffffffffu || !have_distinct_ids(chunks, n_docs))
    throw base::Corrupt("images of a partition: two documents with one id");
  std::unique_ptr<PartitionGraph> graph =
      read_graph_image(images.of_graph, chunks, images.of_chunks, options_.chunk_docs);

  const base::ForkGate::Inside inside(fork_gate_);
  const base::EpochGuard guard;
  const auto refuse = [] {
    throw base::InvalidArgument("scope: expected a scope without documents in this engine");
  };
  if (partitions_.find(scope->key(), scope->hash())) refuse();
  settle_images(chunks);
  auto partition = std::make_unique<Partition>(scope, options_.chunk_docs);
  if (!IdMap::holds(partition.get())) throw base::Error("expected memory addresses of at most 52 bits");
  base::retire(partition->replace_chunks(ChunkList::of(chunks)));
  base::retire(partition->replace_graph(std::move(graph)));
  Partition& loaded = *partition;
  {
    // Another thread may have loaded the same scope meanwhile.
    const std::lock_guard lock(table_mutex_);
    if (partitions_.find(scope->key(), scope->hash())) refuse();
    ids_.defer(loaded, n_docs);
    try {
      partitions_.insert(std::move(partition));
    } catch (...) {
      (void)ids_.forget_deferred(loaded, n_docs);
      throw;
    }
    if (options_.background && graph_work(loaded) != GraphWork::none) keep_up(loaded);
  }
  return n_docs;
}

// Checks chunks whose documents may be the engine's first.
void Engine::settle_images(std::span<const ChunkRef> chunks) {
  const auto corrupt = [](const char* problem) {
    throw base::Corrupt(std::string("images of a partition: ") + problem);
  };
  uint32_t dim = this->dim();
  IdKind kind = id_kind();
  for (const ChunkRef& chunk : chunks) {
    const IdKind own_kind = chunk->id(0).kind;
    if (kind == IdKind::unset) kind = own_kind;
    if (own_kind != kind) corrupt("ids of different kinds");
    const auto check_dim = [&](const vector::Column& column) {
      if (dim == 0) dim = column.options().dim;
      if (column.options().dim != dim) corrupt("vectors of different dimensions");
    };
    if (const vector::Column* column = chunk->vectors()) check_dim(*column);
    if (const vector::Passages* passages = chunk->passages()) check_dim(passages->rows());
  }
  settle(kind, dim);
}

size_t Engine::partition_bytes(const Scope& scope) const {
  const PartitionTurn turn(*this, scope.key(), scope.hash());
  const Partition* partition = turn.get();
  if (!partition) return 0;
  size_t n_bytes = partition->memory_bytes();
  if (const PartitionGraph* graph = partition->graph()) n_bytes += graph->graph->memory_bytes();
  for (const ChunkRef& chunk : partition->chunks())
    n_bytes += chunk->memory_bytes() + chunk->n_live() * IdMap::kUsualBytes;
  return n_bytes;
}

Digest Engine::digest(const Scope& scope) const {
  const PartitionTurn turn(*this, scope.key(), scope.hash());
  Digest digest;
  if (const Partition* partition = turn.get()) {
    for (const ChunkRef& chunk : partition->chunks()) add_digest(*chunk.get(), digest.n_docs, digest);
  }
  return digest;
}

}  // namespace scrubjay::engine
