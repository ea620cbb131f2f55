#include "engine/partition.hpp"

#include "base/epoch.hpp"
#include "base/growing.hpp"

namespace scrubjay::engine {

uint64_t Partition::n_live() const {
  uint64_t n = 0;
  read_consistently([&] {
    n = 0;
    for (const ChunkRef& chunk : chunks()) n += chunk->snapshot().n_live;
  });
  return n;
}

size_t Partition::memory_bytes() const noexcept {
  size_t n_bytes = base::held_bytes(sizeof(Partition)) + scope_->memory_bytes();
  if (const ChunkList* list = chunks_.load(std::memory_order_acquire)) n_bytes += list->memory_bytes();
  return n_bytes;
}

Chunk& Partition::open_chunk() {
  const std::span<const ChunkRef> existing = chunks();
  if (!existing.empty()) {
    // A failed write may have left empty chunks at the end.
    size_t last = existing.size() - 1;
    while (last != 0 && existing[last]->tail() == 0 && !existing[last - 1]->full()) --last;
    if (!existing[last]->full()) return const_cast<Chunk&>(*existing[last].get());
  }
  std::vector<ChunkRef> longer;
  longer.reserve(existing.size() + 1);
  longer.assign(existing.begin(), existing.end());
  auto* opened = new Chunk(scope_);
  opened->limit(last_doc_of_chunk_ + 1u);
  opened->number(existing.empty() ? 0 : existing.back()->serial() + 1);
  longer.emplace_back(opened);
  opened->drop_reference();  // the list has a reference now
  // Readers cannot observe an empty chunk, so no publication is needed.
  base::retire(replace_chunks(ChunkList::of(longer)));
  return *opened;
}

}  // namespace scrubjay::engine
