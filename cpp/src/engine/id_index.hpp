// Id index: from (partition, id), the key of a document, to its place, for all partitions of an engine.
//
// An id map in shards, each under a lock of its own that is held for one look-up or one change: writers of
// different partitions meet only for these instructions, and a shard that grows moves a thirty-second of the
// entries. Entries of a partition go shortly before it leaves the partition table; look-ups compare the partition and
// read only chunks of the one they ask for, which the caller found in the table. So an entry never leads to a partition
// that is gone, even if a new one has its address: the entries of the old one went before it did.
//
// Most partitions that are read from images are searched, and never asked for an id. So their ids are entered by the
// first that looks one up (Partition::ids()); every writer looks up before it changes anything, so until then the chunks
// are as they were read. They count, and are said to take memory, from the beginning.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>

#include "base/fork.hpp"
#include "engine/id_map.hpp"

namespace scrubjay::engine {

class IdIndex {
 public:
  static constexpr size_t kShards = 32;

  // The gate of whoever owns the index: ids are entered inside it.
  explicit IdIndex(base::ForkGate& gate) noexcept : gate_(gate) {}

  // By bits of the key's hash that the maps do not use.
  [[nodiscard]] static size_t shard_number(uint64_t hash) noexcept { return hash >> 59; }

  // The caller holds an epoch guard. The document may not be published yet, or dead since.
  [[nodiscard]] std::optional<Location> find(const Partition& partition, const Id& id) const {
    enter_deferred(partition);
    const uint64_t hash = hash_of(partition, id);
    const Shard& shard = shard_of(hash);
    const std::shared_lock lock(shard.mutex);
    return shard.map.find(partition, id, hash);
  }
  // The same while the document cannot be moved: visit(location), if there is one.
  template <class Visit>
  void look_up(const Partition& partition, const Id& id, Visit&& visit) const {
    enter_deferred(partition);
    const uint64_t hash = hash_of(partition, id);
    const Shard& shard = shard_of(hash);
    const std::shared_lock lock(shard.mutex);
    if (const std::optional<Location> location = shard.map.find(partition, id, hash)) visit(*location);
  }
  // False if the partition has the id. Strong exception guarantee.
  [[nodiscard]] bool add(const Id& id, Location location) {
    enter_deferred(*location.partition);
    if (!enter(id, location)) return false;
    count(1);
    return true;
  }
  // All documents of a partition that no other thread knows of yet, n of them, with distinct ids: looked at when the
  // first of its ids is looked up.
  void defer(const Partition& partition, size_t n) noexcept {
    count(n);
    partition.ids().store(Partition::Ids::deferred, std::memory_order_release);
  }
  // Takes back defer(); false if the ids are entered, and go one by one. The caller has the partition's turn, or no other
  // thread knows of the partition. Nothing is entered from then on.
  [[nodiscard]] bool forget_deferred(const Partition& partition, size_t n) noexcept {
    for (Partition::Ids state = Partition::Ids::deferred;
         !partition.ids().compare_exchange_strong(state, Partition::Ids::gone, std::memory_order_acq_rel);
         state = Partition::Ids::deferred) {
      if (state != Partition::Ids::entering) return false;
      partition.ids().wait(state, std::memory_order_acquire);
    }
    n_.fetch_sub(n, std::memory_order_relaxed);
    return true;
  }
  // Of an id that the partition has.
  void replace(const Id& id, Location location) noexcept {
    const uint64_t hash = hash_of(*location.partition, id);
    Shard& shard = shard_of(hash);
    const std::unique_lock lock(shard.mutex);
    shard.map.replace(id, hash, location);
  }
  void erase(const Id& id, Location location) noexcept {
    const uint64_t hash = hash_of(*location.partition, id);
    Shard& shard = shard_of(hash);
    const std::unique_lock lock(shard.mutex);
    const size_t n_before = shard.map.size();
    shard.map.erase(hash, location);
    n_.fetch_sub(n_before - shard.map.size(), std::memory_order_relaxed);
  }
  // Before a move: the partition's ids, if they are not here yet.
  void enter_deferred(const Partition& partition) const {
    if (partition.ids().load(std::memory_order_acquire) != Partition::Ids::entered) enter_all(partition);
  }

  // Everything stays where it is while this lives, but for what move() moves: documents get new places.
  class Move {
   public:
    explicit Move(IdIndex& index) : index_(index) {
      for (Shard& shard : index_.shards_) shard.mutex.lock();
    }
    ~Move() {
      for (Shard& shard : index_.shards_) shard.mutex.unlock();
    }
    Move(const Move&) = delete;
    Move& operator=(const Move&) = delete;
    // The document with this hash of its key at `from` is now at `to`.
    void move(uint64_t hash, Location from, LocalDoc to) noexcept {
      index_.shard_of(hash).map.move(hash, from, to);
    }

   private:
    IdIndex& index_;
  };

  // In the child of a fork, with no other thread: those that are not here hold no shard.
  void restart_after_fork() noexcept {
    for (Shard& shard : shards_) new (&shard.mutex) std::shared_mutex;
  }

  // Announced and deferred documents included.
  [[nodiscard]] size_t size() const noexcept { return n_.load(std::memory_order_relaxed); }
  // Assumes the usual spread of ids over the shards, which never shrink: the real size of each depends on the
  // hash seed, which no figure may disclose.
  [[nodiscard]] size_t memory_bytes() const noexcept {
    const size_t most = most_.load(std::memory_order_relaxed);
    return std::max(most * IdMap::kUsualBytes, std::min(most, kShards) * IdMap::kLeastBytes);
  }

 private:
  struct Shard {
    mutable std::shared_mutex mutex;
    IdMap map;
  };
  [[nodiscard]] static uint64_t hash_of(const Partition& partition, const Id& id) noexcept {
    return key_hash(*partition.scope(), id.hash());
  }
  [[nodiscard]] Shard& shard_of(uint64_t hash) const noexcept { return shards_[shard_number(hash)]; }

  void enter_all(const Partition& partition) const;  // id_index.cpp
  [[nodiscard]] bool enter(const Id& id, Location location) const {
    const uint64_t hash = hash_of(*location.partition, id);
    Shard& shard = shard_of(hash);
    const std::unique_lock lock(shard.mutex);
    return shard.map.add(id, hash, location);
  }
  void count(size_t n_more) noexcept {
    const size_t n = n_.fetch_add(n_more, std::memory_order_relaxed) + n_more;
    size_t most = most_.load(std::memory_order_relaxed);
    while (most < n && !most_.compare_exchange_weak(most, n, std::memory_order_relaxed)) {
    }
  }

  static_assert(kShards == 32);
  base::ForkGate& gate_;
  mutable std::array<Shard, kShards> shards_;
  std::atomic<size_t> n_{0};
  std::atomic<size_t> most_{0};  // that n_ ever was
};

}  // namespace scrubjay::engine
