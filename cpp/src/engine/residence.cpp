// Partitions that come and go as images, while the store keeps their documents: writing them, reading them,
// and what proves that one equals another.

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/image.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {

void Engine::validate(std::span<const DocumentInput> documents) const { check(documents); }

ImageIdentity Engine::image_identity() const noexcept {
  return {column_options(), analyzer_.name(), id_kind()};
}

std::vector<std::string> Engine::save_partition(const Scope& scope) const {
  auto& self = const_cast<Engine&>(*this);  // images read what only writers may: take a writer's turn
  std::vector<std::string> images;
  std::optional<GraphKeeping> graph;
  {
    const WriteLock lock(self);
    const base::EpochGuard guard;
    const Partition* partition = partitions_.find(scope.key(), scope.hash());
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

size_t Engine::load_partition(const ScopeRef& scope, std::span<const std::string_view> images) {
  const ImageIdentity identity = image_identity();
  auto list = std::make_unique<ChunkList>();
  size_t n_docs = 0;
  std::vector<std::string_view> of_chunks;
  std::string_view of_graph;
  for (const std::string_view bytes : images) {
    if (is_graph_image(bytes)) {
      of_graph = bytes;
      continue;
    }
    of_chunks.push_back(bytes);
    list->chunks.push_back(read_image(bytes, scope, identity));
    const ChunkRef& chunk = list->chunks.back();
    const_cast<Chunk*>(chunk.get())->limit(options_.chunk_docs);
    const_cast<Chunk*>(chunk.get())->number(list->chunks.size() - 1);
    n_docs += chunk->n_docs();
  }
  if (list->chunks.empty()) return 0;
  std::unique_ptr<PartitionGraph> graph =
      read_graph_image(of_graph, list->chunks, of_chunks, options_.chunk_docs);

  const WriteLock lock(*this);
  const base::EpochGuard guard;
  if (partitions_.find(scope->key(), scope->hash()))
    throw base::InvalidArgument("scope: expected one without documents here");
  const auto corrupt = [](const char* what) {
    throw base::Corrupt(std::string("images of a partition: ") + what);
  };
  uint32_t dim = this->dim();
  IdKind kind = id_kind();
  for (const ChunkRef& chunk : list->chunks) {
    const IdKind own_kind = chunk->id(0).kind;
    if (kind == IdKind::unset) kind = own_kind;
    if (own_kind != kind) corrupt("ids of two kinds");
    if (const vector::Column* column = chunk->vectors()) {
      if (dim == 0) dim = column->options().dim;
      if (column->options().dim != dim) corrupt("vectors of two dimensions");
    }
  }
  const std::vector<ChunkRef> chunks = list->chunks;  // may fail: before anything is changed
  Partition& partition = partition_for(scope);
  const std::unique_lock ids_lock(ids_mutex_);
  try {
    ids_.reserve(n_docs);
  } catch (...) {
    partitions_.remove(partition);
    throw;
  }
  id_kind_.store(kind, std::memory_order_release);
  dim_.store(dim, std::memory_order_release);
  {
    const Partition::Publication publication(partition);
    base::retire(partition.replace_chunks(std::move(list)));
    base::retire(partition.replace_graph(std::move(graph)));
  }
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (uint32_t offset = 0; offset < chunks[c]->n_docs(); ++offset) {
      const Id id = chunks[c]->id(offset);
      if (!ids_.find(id)) {
        ids_.put(id, {&partition, local_doc(c, offset)});
        continue;
      }
      // Take back what was put, in the same order.
      for (size_t undo_c = 0; undo_c <= c; ++undo_c) {
        const uint32_t end = undo_c == c ? offset : chunks[undo_c]->n_docs();
        for (uint32_t undo = 0; undo < end; ++undo)
          ids_.erase(chunks[undo_c]->id(undo).hash(), {&partition, local_doc(undo_c, undo)});
      }
      partitions_.remove(partition);
      corrupt("an id that another document has");
    }
  }
  if (options_.background && graph_work(partition) != GraphWork::none) keep_up(partition);
  return n_docs;
}

size_t Engine::partition_bytes(const Scope& scope) const {
  auto& self = const_cast<Engine&>(*this);
  const WriteLock lock(self);
  const base::EpochGuard guard;
  const Partition* partition = partitions_.find(scope.key(), scope.hash());
  if (!partition) return 0;
  size_t n_bytes = partition->memory_bytes();
  if (const PartitionGraph* graph = partition->graph()) n_bytes += graph->graph->memory_bytes();
  for (const ChunkRef& chunk : partition->chunks())
    n_bytes += chunk->memory_bytes() + chunk->n_live() * IdMap::kUsualBytes;
  return n_bytes;
}

Digest Engine::digest(const Scope& scope) const {
  auto& self = const_cast<Engine&>(*this);
  const WriteLock lock(self);
  const base::EpochGuard guard;
  Digest digest;
  if (const Partition* partition = partitions_.find(scope.key(), scope.hash())) {
    for (const ChunkRef& chunk : partition->chunks()) add_digest(*chunk.get(), digest.n_docs, digest);
  }
  return digest;
}

}  // namespace scrubjay::engine
