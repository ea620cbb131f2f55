// Partition: all documents of one exact scope; the unit of isolation, of statistics and of erasure.
//
// A list of chunks, the last one open. Writers (one at a time: turn.hpp) prepare documents invisibly and then
// publish them: a few stores between two increments of `version`, which is odd during a publication. A reader
// collects what it needs (counts, statistics, the postings of its terms) and collects again if the version
// moved meanwhile, so it sees one state of the whole partition: an update shows the old version of a document
// or the new one, never both or neither. A publication takes some hundred nanoseconds; readers never wait for
// the rest of a write.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "engine/chunk.hpp"
#include "engine/expansion.hpp"
#include "engine/scope.hpp"
#include "engine/turn.hpp"
#include "vector/graph.hpp"

namespace scrubjay::engine {

// Location of a document: `serial number of its chunk << 16 | offset`. Serial numbers ascend along the chunks
// of a partition; compaction leaves gaps, so documents that it does not rewrite keep their locations.
using LocalDoc = uint64_t;
[[nodiscard]] constexpr LocalDoc local_doc(uint64_t serial, uint32_t offset) noexcept {
  return serial << 16 | offset;
}
[[nodiscard]] constexpr uint64_t serial_of(LocalDoc doc) noexcept { return doc >> 16; }
[[nodiscard]] constexpr uint32_t offset_of(LocalDoc doc) noexcept { return doc & 0xffffu; }

// Immutable; in one piece of memory, because most partitions have one chunk.
class ChunkList {
 public:
  // May throw std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<ChunkList> of(std::span<const ChunkRef> chunks) {
    void* memory = ::operator new(n_bytes(chunks.size()));
    return std::unique_ptr<ChunkList>(new (memory) ChunkList(chunks));
  }
  ~ChunkList() { std::destroy_n(first(), n_); }
  ChunkList(const ChunkList&) = delete;
  ChunkList& operator=(const ChunkList&) = delete;
  static void operator delete(void* memory) noexcept { ::operator delete(memory); }

  [[nodiscard]] std::span<const ChunkRef> chunks() const noexcept {
    return {const_cast<ChunkList*>(this)->first(), n_};
  }
  [[nodiscard]] size_t memory_bytes() const noexcept { return base::held_bytes(n_bytes(n_)); }

 private:
  explicit ChunkList(std::span<const ChunkRef> chunks) noexcept : n_(chunks.size()) {
    std::uninitialized_copy(chunks.begin(), chunks.end(), first());
  }
  [[nodiscard]] static size_t n_bytes(size_t n) noexcept { return sizeof(ChunkList) + n * sizeof(ChunkRef); }
  [[nodiscard]] ChunkRef* first() noexcept { return reinterpret_cast<ChunkRef*>(this + 1); }

  size_t n_;  // of the references behind it
};

// A graph over the vectors of some chunks, with references to the chunks, which keep the vectors in place.
struct PartitionGraph {
  std::vector<ChunkRef> chunks;                // in the order of the partition
  std::shared_ptr<const vector::Graph> graph;  // shared with the thread that extends it
  uint64_t n_left_out = 0;                     // documents it covers that were deleted when it was built
  uint32_t n_extensions = 0;                   // since it was built
  ExpansionScales scales;                      // calibrated ef (graph_trial.hpp)
};

class Partition {
 public:
  Partition(ScopeRef scope, uint32_t chunk_docs)
      : scope_(std::move(scope)), last_doc_of_chunk_(static_cast<uint16_t>(chunk_docs - 1)) {}
  ~Partition() {
    delete chunks_.load(std::memory_order_relaxed);
    delete graph_.load(std::memory_order_relaxed);
  }
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  [[nodiscard]] const ScopeRef& scope() const noexcept { return scope_; }
  // Unique among all partitions that this process ever had.
  [[nodiscard]] uint64_t serial() const noexcept { return serial_; }
  // Changes with every publication; odd during one. Within `collect` it is the version of what is collected.
  [[nodiscard]] uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  // --- for readers, under an epoch guard ---------------------------------------------------------
  [[nodiscard]] std::span<const ChunkRef> chunks() const noexcept {
    const ChunkList* list = chunks_.load(std::memory_order_acquire);
    return list ? list->chunks() : std::span<const ChunkRef>();
  }
  // The chunk with this serial number, which must exist.
  [[nodiscard]] const Chunk& chunk_at(uint64_t serial) const noexcept {
    const std::span<const ChunkRef> all = chunks();
    if (serial < all.size() && all[serial]->serial() == serial) return *all[serial].get();  // the usual case
    return *std::lower_bound(all.begin(), all.end(), serial, [](const ChunkRef& chunk, uint64_t wanted) {
              return chunk->serial() < wanted;
            })->get();
  }
  // The graph over these chunks, or null. Collect it together with the chunks.
  [[nodiscard]] const PartitionGraph* graph() const noexcept {
    return graph_.load(std::memory_order_acquire);
  }
  // Calls `collect` until it ran on an unchanged state. It must be repeatable and only read.
  template <class Collect>
  void read_consistently(Collect&& collect) const {
    for (;;) {
      const uint64_t before = version_.load(std::memory_order_acquire);
      if (before & 1) continue;
      collect();
      std::atomic_signal_fence(std::memory_order_acq_rel);
      // What collect() loaded was loaded with acquire, so this load cannot move before it.
      if (version_.load(std::memory_order_relaxed) == before) return;
    }
  }
  [[nodiscard]] uint64_t n_live() const;
  // Memory of the partition itself, its scope and its list of chunks, without the chunks and the graph.
  [[nodiscard]] size_t memory_bytes() const noexcept;

  // Whether the id index may still hold old locations of documents that were published again, or lack
  // documents of a partition that is being erased. Read it after taking the snapshot.
  [[nodiscard]] bool ids_lag() const noexcept { return ids_lag_.load(std::memory_order_acquire); }
  // Whether the id index has the ids: those of a partition that came from images are entered at the first
  // lookup (id_index.hpp).
  enum class Ids : uint8_t { entered, deferred, entering, gone };
  [[nodiscard]] std::atomic<Ids>& ids() const noexcept { return ids_; }

  // --- for the writer ----------------------------------------------------------------------------
  // The following is called by the thread that has the turn.
  [[nodiscard]] Turn& turn() noexcept { return turn_; }
  // Whether the partition has left the partition table, for good.
  [[nodiscard]] bool removed() const noexcept { return removed_; }
  void set_removed() noexcept { removed_ = true; }
  void set_ids_lag(bool lag) noexcept { ids_lag_.store(lag, std::memory_order_seq_cst); }
  // The chunk that takes the next document.
  [[nodiscard]] Chunk& open_chunk();
  [[nodiscard]] Chunk& chunk(uint64_t serial) noexcept {
    return const_cast<Chunk&>(chunk_at(serial));  // only the writer may do this
  }
  [[nodiscard]] size_t n_chunks() const noexcept { return chunks().size(); }
  [[nodiscard]] std::unique_ptr<ChunkList> replace_chunks(std::unique_ptr<ChunkList> list) noexcept {
    return std::unique_ptr<ChunkList>(chunks_.exchange(list.release(), std::memory_order_acq_rel));
  }
  // The graph belongs to the current chunks: replace both within one publication.
  [[nodiscard]] std::unique_ptr<PartitionGraph> replace_graph(
      std::unique_ptr<PartitionGraph> graph) noexcept {
    return std::unique_ptr<PartitionGraph>(graph_.exchange(graph.release(), std::memory_order_acq_rel));
  }
  // Called in the child of a fork, where the writer that was publishing does not exist.
  void end_publication() noexcept { version_.fetch_add(version_.load() & 1); }
  // Everything stored during its lifetime becomes visible at once.
  class Publication {
   public:
    explicit Publication(Partition& partition) noexcept : version_(partition.version_) {
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    }
    ~Publication() {
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    Publication(const Publication&) = delete;
    Publication& operator=(const Publication&) = delete;

   private:
    std::atomic<uint64_t>& version_;
  };

 private:
  [[nodiscard]] static uint64_t next_serial() noexcept {
    static std::atomic<uint64_t> n_made{0};
    return n_made.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const ScopeRef scope_;
  const uint16_t last_doc_of_chunk_;  // documents per chunk, less one
  Turn turn_;
  bool removed_ = false;
  std::atomic<bool> ids_lag_{false};
  mutable std::atomic<Ids> ids_{Ids::entered};

 public:
  // Whether the partition is in the queue of upkeep (upkeep.cpp).
  std::atomic<bool> waits_for_upkeep{false};
  std::atomic<bool> in_upkeep{false};  // whether upkeep is working on it

 private:
  const uint64_t serial_ = next_serial();
  std::atomic<uint64_t> version_{0};
  std::atomic<ChunkList*> chunks_{nullptr};
  std::atomic<PartitionGraph*> graph_{nullptr};
};

}  // namespace scrubjay::engine
