// Chunk rewrite: copies the live documents of neighbouring chunks into one chunk while they change.
//
// copy() reads what is published, like a search, and may be called again for what was published since; only
// the last call, finish(), has the writers wait. No text is analysed: postings are taken over, renumbered.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/chunk.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

class ChunkRewrite {
 public:
  // `old`: neighbours in a partition, at least one; only the last of them may be open. `chunk_docs`: what the
  // new chunk may hold.
  ChunkRewrite(std::vector<ChunkRef> old, const vector::ColumnOptions& vectors, uint32_t chunk_docs);

  // Copies the documents published since the last call; returns how many there were. Stops early when
  // `stopped`.
  size_t copy(const std::atomic<bool>& stopped);
  // With the writers held: copies the rest and takes over the deletions. False: it cannot be used, because
  // the new chunk would hold too much.
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
  }  // ours alone until placed

  [[nodiscard]] bool has_room(uint32_t n_passages) noexcept;

  const std::vector<ChunkRef> old_;
  const vector::ColumnOptions vectors_;
  const uint32_t chunk_docs_;
  ChunkRef target_;
  std::vector<std::vector<uint32_t>> renumbered_;  // by old chunk and offset: the new one, or kGone
  bool overflowed_ = false;
};

// A sixth of the documents: then no scan is longer by more than a fifth for those that are gone, and at most
// five documents are copied for each that was deleted, which made replacing all of a partition's documents 3
// to 12% dearer than waiting for three tenths. Few: a rewrite gives back next to nothing.
[[nodiscard]] inline bool many_are_dead(const Chunk& chunk) noexcept {
  constexpr uint32_t kLeastDead = 64;
  const uint32_t n_dead = chunk.n_docs() - chunk.n_live();
  return n_dead >= kLeastDead && uint64_t{n_dead} * 6 > chunk.n_docs();
}

}  // namespace scrubjay::engine
