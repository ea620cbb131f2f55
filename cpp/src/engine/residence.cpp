// Partitions that come and go as images, while the store keeps their documents: writing them, reading them,
// and what proves that one equals another.

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/image.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {
namespace {

// Visits the first n documents of chunks without a writer.
template <class Visit>
void for_each_document(std::span<const ChunkRef> chunks, size_t n, Visit&& visit) {
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (uint32_t offset = 0; offset < chunks[c]->n_docs() && n-- != 0; ++offset)
      visit(chunks[c]->id(offset), local_doc(chunks[c]->serial(), offset));
  }
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
    const_cast<Chunk*>(chunk.get())
        ->number_writes(next_write_.fetch_add(chunk->n_docs(), std::memory_order_relaxed));
    n_docs += chunk->n_docs();
  }
  if (list->chunks.empty()) return 0;
  std::unique_ptr<PartitionGraph> graph =
      read_graph_image(of_graph, list->chunks, of_chunks, options_.chunk_docs);

  const base::ForkGate::Inside inside(fork_gate_);
  const base::EpochGuard guard;
  const auto refuse = [] { throw base::InvalidArgument("scope: expected one without documents here"); };
  if (partitions_.find(scope->key(), scope->hash())) refuse();
  settle_images(list->chunks);
  // Its documents are announced before it is in the table, where searches find it. Another thread may load
  // the same scope meanwhile: who comes second into the table takes its own announcements back.
  const std::vector<ChunkRef> chunks = list->chunks;  // may fail: before anything is changed
  auto partition = std::make_unique<Partition>(scope, options_.chunk_docs);
  if (!IdMap::holds(partition.get())) throw base::Error("expected memory addresses of at most 52 bits");
  base::retire(partition->replace_chunks(std::move(list)));
  base::retire(partition->replace_graph(std::move(graph)));
  size_t n_announced = 0;
  try {
    for_each_document(chunks, SIZE_MAX, [&](const Id& id, LocalDoc doc) {
      if (!ids_.add(id, {partition.get(), doc}))
        throw base::Corrupt("images of a partition: two documents with one id");
      ++n_announced;
    });
    const std::lock_guard lock(table_mutex_);
    if (partitions_.find(scope->key(), scope->hash())) refuse();
    Partition& loaded = *partition;
    partitions_.insert(std::move(partition));
    if (options_.background && graph_work(loaded) != GraphWork::none) keep_up(loaded);
  } catch (...) {
    for_each_document(chunks, n_announced,
                      [&](const Id& id, LocalDoc doc) { ids_.erase(id, {partition.get(), doc}); });
    throw;  // no other thread saw the partition: it was not in the table
  }
  return n_docs;
}

// Of chunks whose documents are the engine's first, perhaps.
void Engine::settle_images(std::span<const ChunkRef> chunks) {
  const auto corrupt = [](const char* what) {
    throw base::Corrupt(std::string("images of a partition: ") + what);
  };
  uint32_t dim = this->dim();
  IdKind kind = id_kind();
  for (const ChunkRef& chunk : chunks) {
    const IdKind own_kind = chunk->id(0).kind;
    if (kind == IdKind::unset) kind = own_kind;
    if (own_kind != kind) corrupt("ids of two kinds");
    const auto check_dim = [&](const vector::Column& column) {
      if (dim == 0) dim = column.options().dim;
      if (column.options().dim != dim) corrupt("vectors of two dimensions");
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
