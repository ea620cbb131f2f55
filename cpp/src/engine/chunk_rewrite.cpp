#include "engine/chunk_rewrite.hpp"

#include "base/epoch.hpp"
#include "base/interruption.hpp"

namespace scrubjay::engine {

ChunkRewrite::ChunkRewrite(std::vector<ChunkRef> old, const vector::ColumnOptions& vectors,
                           uint32_t chunk_docs)
    : old_(std::move(old)), vectors_(vectors), chunk_docs_(chunk_docs), renumbered_(old_.size()) {
  auto* opened = new Chunk(old_.front()->scope());
  target_ = ChunkRef(opened);
  opened->drop_reference();  // target_ has a reference now
  opened->limit(chunk_docs);
  opened->number(old_.front()->serial());
}

size_t ChunkRewrite::copy(const std::atomic<bool>& stopped) {
  constexpr uint32_t kBatch = 256;  // documents between two checks
  size_t n_copied = 0;
  for (size_t c = 0; c < old_.size(); ++c) {
    const Chunk& from = *old_[c].get();
    std::vector<uint32_t>& renumbered = renumbered_[c];
    const auto first = static_cast<uint32_t>(renumbered.size());
    const uint32_t n_docs = from.snapshot().n_docs;
    renumbered.reserve(n_docs);
    while (renumbered.size() < n_docs) {
      if (stopped.load(std::memory_order_relaxed)) return n_copied;
      base::interruption_point();
      const base::EpochGuard guard;
      const vector::Column* column = from.vectors();
      const vector::Passages* passages = from.passages();
      for (uint32_t i = 0; i < kBatch && renumbered.size() < n_docs; ++i) {
        const auto offset = static_cast<uint32_t>(renumbered.size());
        ++n_copied;
        if (from.dead(offset)) {
          renumbered.push_back(lexical::PostingTable::kGone);
          continue;
        }
        const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr;
        if (chunk().n_docs() == chunk_docs_ || (entry && chunk().passages() && !has_room(entry->n))) {
          overflowed_ = true;
          return n_copied;
        }
        NewDocument document{from.id(offset), from.text(offset), from.payload(offset), nullptr, {}, {}, 0};
        document.length = from.length(offset);
        document.write = from.write(offset);
        chunk().prepare(document, vectors_);
        if (column && column->has(offset)) chunk().copy_vector(*column, offset);
        if (entry) chunk().copy_passages(*passages, *entry);
        renumbered.push_back(chunk().tail() - 1);
        chunk().publish(1);
      }
    }
    const base::EpochGuard guard;
    if (first != n_docs) chunk().postings_to_fill().append_all(from.postings(), first, renumbered);
  }
  return n_copied;
}

// Whether a document with this many passages fits.
bool ChunkRewrite::has_room(uint32_t n_passages) noexcept {
  return chunk().passages()->n_rows() + n_passages <= vector::Passages::kMaxRows;
}

bool ChunkRewrite::finish() {
  static const std::atomic<bool> never{false};
  copy(never);
  if (overflowed_) return false;
  auto dead = std::make_unique<base::Bitmap>(target_->n_docs());
  bool any = false;
  for (size_t c = 0; c < old_.size(); ++c) {
    for (uint32_t offset = 0; offset < renumbered_[c].size(); ++offset) {
      const uint32_t doc = renumbered_[c][offset];
      if (doc == lexical::PostingTable::kGone || !old_[c]->dead(offset)) continue;
      dead->set(doc);
      any = true;
    }
  }
  if (any) chunk().bury(std::move(dead));
  return true;
}

}  // namespace scrubjay::engine
