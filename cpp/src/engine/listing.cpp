// Listing: merges the documents of the visible partitions in the order of their writes.

#include <algorithm>

#include "base/epoch.hpp"
#include "base/interruption.hpp"
#include "engine/engine.hpp"
#include "engine/search_scratch.hpp"

namespace scrubjay::engine {
namespace {

// The admitted documents of one partition's snapshot, in order of writing or in reverse.
class Walk {
 public:
  Walk(std::span<const ChunkSnapshot> chunks, uint32_t first_chunk, bool newest, uint64_t after)
      : chunks_(chunks), first_chunk_(first_chunk), newest_(newest) {
    if (after == 0) {
      chunk_ = newest ? chunks.size() : 0;
      if (newest && chunk_ != 0) offset_ = chunks[--chunk_].n_docs;
    } else {
      seek(after);
    }
    if (!newest) {
      settle_forward();
    } else {
      step_back();
    }
  }

  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  [[nodiscard]] uint32_t chunk() const noexcept { return first_chunk_ + static_cast<uint32_t>(chunk_); }
  [[nodiscard]] uint32_t offset() const noexcept { return offset_; }
  [[nodiscard]] uint64_t write() const noexcept { return chunks_[chunk_].chunk->write(offset_); }
  void next() noexcept {
    if (newest_) {
      step_back();
    } else {
      ++offset_;
      settle_forward();
    }
  }

 private:
  // Forward: to the first document with a higher number. Backward: behind the last one with a lower number.
  void seek(uint64_t after) noexcept {
    const uint64_t first_not = newest_ ? after : after + 1;
    const auto ends_before = [&](const ChunkSnapshot& chunk) {
      return chunk.n_docs == 0 || chunk.chunk->write(chunk.n_docs - 1) < first_not;
    };
    chunk_ = static_cast<size_t>(std::partition_point(chunks_.begin(), chunks_.end(), ends_before) -
                                 chunks_.begin());
    if (chunk_ == chunks_.size()) {
      if (newest_ && chunk_ != 0) offset_ = chunks_[--chunk_].n_docs;
      return;
    }
    uint32_t low = 0, high = chunks_[chunk_].n_docs;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (chunks_[chunk_].chunk->write(middle) < first_not) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offset_ = low;
  }
  [[nodiscard]] bool hidden() const noexcept {
    const base::Bitmap* dead = chunks_[chunk_].dead;
    return dead && dead->test(offset_);
  }
  void settle_forward() noexcept {
    for (; chunk_ < chunks_.size(); ++chunk_, offset_ = 0) {
      for (; offset_ < chunks_[chunk_].n_docs; ++offset_) {
        if (!hidden()) return;
      }
    }
    at_end_ = true;
  }
  void step_back() noexcept {
    if (chunks_.empty()) {
      at_end_ = true;
      return;
    }
    for (;;) {
      while (offset_ != 0) {
        --offset_;
        if (!hidden()) return;
      }
      if (chunk_ == 0) break;
      offset_ = chunks_[--chunk_].n_docs;
    }
    at_end_ = true;
  }

  std::span<const ChunkSnapshot> chunks_;
  uint32_t first_chunk_;
  bool newest_;
  bool at_end_ = false;
  size_t chunk_ = 0;
  uint32_t offset_ = 0;
};

}  // namespace

SearchResult Engine::list(const ListRequest& request) const {
  const base::EpochGuard guard;
  SearchScratch& scratch = SearchScratch::of_thread();
  const ScratchUse use(scratch);
  scratch.start();
  for (const Scope::Visible* visible = request.scope->visible_begin();
       visible != request.scope->visible_end(); ++visible) {
    if (request.exact && visible->key != request.scope->key()) continue;
    if (const Partition* partition = partitions_.find(visible->key, visible->hash))
      scratch.add(*partition, [](const Chunk&, const ChunkSnapshot&) {});
  }
  if (request.filter.any()) apply_filter(request.filter, scratch);
  std::vector<Walk> walks;
  for (size_t p = 0; p < scratch.partitions.size(); ++p) {
    const uint32_t first = scratch.partitions[p].first_chunk;
    const auto chunks =
        std::span<const ChunkSnapshot>(scratch.chunks).subspan(first, scratch.end_of(p) - first);
    walks.emplace_back(chunks, first, request.newest, request.after);
  }
  SearchResult result;
  result.n_admitted = scratch.n_admitted();
  constexpr uint32_t kNowhere = UINT32_MAX;
  std::vector<uint32_t> places(scratch.chunks.size(), kNowhere);  // index into result.chunks
  for (size_t left_out = 0; result.hits.size() < request.limit;) {
    Walk* best = nullptr;
    for (Walk& walk : walks) {
      if (walk.at_end()) continue;
      if (!best || (walk.write() < best->write()) != request.newest) best = &walk;
    }
    if (!best) break;
    if (left_out < request.skip) {
      ++left_out;
    } else {
      if (result.hits.size() % 1024 == 1023) base::interruption_point();
      uint32_t& place = places[best->chunk()];
      if (place == kNowhere) {
        place = static_cast<uint32_t>(result.chunks.size());
        result.chunks.emplace_back(scratch.chunks[best->chunk()].chunk);
      }
      Hit& hit = result.hits.emplace_back();
      hit.chunk = place;
      hit.offset = best->offset();
      result.last_write = best->write();
    }
    best->next();
  }
  return result;
}

std::vector<ScopeRef> Engine::scopes(const Scope* within) const {
  const base::EpochGuard guard;
  std::vector<ScopeRef> scopes;
  partitions_.for_each([&](const Partition& partition) {
    if ((!within || within->contains(*partition.scope())) && partition.n_live() != 0)
      scopes.push_back(partition.scope());
  });
  return scopes;
}

}  // namespace scrubjay::engine
