// Chunk rewrite: copies the live documents of neighbouring chunks into one chunk while they change.
//
// copy() reads published documents, like a search, and may be called again for documents published
// since. Only the last step, finish(), blocks the writers. Texts are not analysed again: postings are
// copied and renumbered.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/chunk.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

class ChunkRewrite {
 public:
  // `old`: neighbouring chunks of a partition, at least one; only the last may be open. `chunk_docs`:
  // capacity of the new chunk.
  ChunkRewrite(std::vector<ChunkRef> old, const vector::ColumnOptions& vectors, uint32_t chunk_docs);

  // Copies the documents published since the last call; returns their number. Stops early when `stopped`.
  size_t copy(const std::atomic<bool>& stopped);
  // Copies the rest and applies the deletions, while the writers are blocked. Returns false if the new chunk
  // cannot be used because it would overflow.
  [[nodiscard]] bool finish();

  [[nodiscard]] const std::vector<ChunkRef>& old() const noexcept { return old_; }
  [[nodiscard]] const ChunkRef& target() const noexcept { return target_; }
  // After finish(): calls visit(old chunk, old offset, new offset) for every live document, ascending.
  template <class Visit>
  void for_each_live(Visit&& visit) const {
    for (size_t c = 0; c < old_.size(); ++c) {
      for (uint32_t offset = 0; offset < renumbered_[c].size(); ++offset) {
        const uint32_t doc = renumbered_[c][offset];
        if (doc != lexical::PostingTable::kGone && !target_->dead(doc)) visit(*old_[c].get(), offset, doc);
      }
    }
  }

 private:
  [[nodiscard]] Chunk& chunk() noexcept {
    return const_cast<Chunk&>(*target_.get());
  }  // not shared until it is published

  [[nodiscard]] bool has_room(uint32_t n_passages) noexcept;

  const std::vector<ChunkRef> old_;
  const vector::ColumnOptions vectors_;
  const uint32_t chunk_docs_;
  ChunkRef target_;
  std::vector<std::vector<uint32_t>> renumbered_;  // new offset by old chunk and offset, or kGone
  bool overflowed_ = false;
};

// Whether enough documents are deleted to rewrite the chunk: a sixth. Then deleted documents lengthen a scan
// by at most a fifth, and at most five documents are copied for each deleted one, which made replacing all
// documents of a partition 3 to 12% slower than with a threshold of three tenths. Below kLeastDead a rewrite
// would free next to nothing.
[[nodiscard]] inline bool many_are_dead(const Chunk& chunk) noexcept {
  constexpr uint32_t kLeastDead = 64;
  const uint32_t n_dead = chunk.n_docs() - chunk.n_live();
  return n_dead >= kLeastDead && uint64_t{n_dead} * 6 > chunk.n_docs();
}

}  // namespace scrubjay::engine
