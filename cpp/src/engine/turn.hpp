// Turns: the lock order of writers, and the states of a document.
//
// What a writer does takes one of three turns, always in this order:
//   1. Engine::compaction_mutex_: one rewrite of chunks at a time. Searches and writes do not take it.
//   2. the turns of partitions, by ascending serial number (Turn below, Partition::turn()): needed to
//      append to the chunks of a partition, to replace or remove them, and to read counts that only writers
//      may read. Held as long as that takes: a writer waits for writers of its own partitions only.
//   3. what all partitions share, each held for some instructions and never two of them at once: the
//      partition table (Engine::table_mutex_),
//      the shards of the id index (id_index.hpp), the kind of ids and the
//      dimension (Engine::identity_mutex_), the list of upkeep (Engine::upkeep_mutex_).
// Analysis, checks, and the encoding of vectors come before all of them (prepared_batch.hpp).
//
// A document's states: prepared (in its chunk behind the published count; only the writer that holds the turn
// knows of it), announced (its id is in the id index, so that publishing it cannot fail and no look-up misses
// it afterwards; look-ups pass it over until then), published (the partition's version moved: every search
// sees it), dead. A write that fails before it has published goes back from announced to nothing, without
// asking for memory (batch_write.cpp).
//
// Partitions that leave the table are marked (Partition::removed()) under their turn; a writer that waited
// for the turn of one looks its scope up again. They stay readable under the epoch guard that a writer holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace scrubjay::engine {

// A mutex of one byte (Drepper 2011, "Futexes Are Tricky", mutex2): there may be a million partitions.
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
