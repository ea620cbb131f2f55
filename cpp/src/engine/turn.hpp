// Turns: the lock order of writers, and the states of a document.
//
// A writer takes locks of three levels, always in this order:
//   1. Engine::compaction_mutex_: one rewrite of chunks at a time. Searches and writes do not take it.
//   2. The turns of partitions, by ascending serial number (Turn below, Partition::turn()): required to
//      append to the chunks of a partition, to replace or remove them, and to read counts that only writers
//      may read. Held for the whole operation: a writer waits only for writers of its own partitions.
//   3. State that all partitions share, each lock held for a few instructions and never two at once: the
//      partition table (Engine::table_mutex_), the shards of the id index (id_index.hpp), the kind of ids and
//      the dimension (Engine::identity_mutex_), the queue of upkeep (Engine::upkeep_mutex_).
// Analysis, checks, and the encoding of vectors happen before any of them (prepared_batch.hpp).
//
// The states of a document: prepared (in its chunk beyond the published count; known only to the writer that
// holds the turn), announced (its id is in the id index, so that publication cannot fail and no later lookup
// misses it; lookups ignore it until then), published (the partition's version has moved: every search sees
// it), deleted. A write that fails before publication rolls announced documents back without allocating
// memory (batch_write.cpp).
//
// Partitions that leave the table are marked (Partition::removed()) under their turn; a writer that waited
// for the turn of such a partition looks its scope up again. They stay readable under the epoch guard that a
// writer holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace scrubjay::engine {

// Turn: a mutex of one byte, since there may be a million partitions (Drepper 2011, "Futexes
// Are Tricky", mutex2).
class Turn {
 public:
  void lock() noexcept {
    uint8_t state = kFree;
    if (state_.compare_exchange_strong(state, kHeld, std::memory_order_acquire)) return;
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      state_.wait(kAwaited, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) state_.notify_one();
  }

 private:
  static constexpr uint8_t kFree = 0, kHeld = 1, kAwaited = 2;
  std::atomic<uint8_t> state_{kFree};
};

}  // namespace scrubjay::engine
