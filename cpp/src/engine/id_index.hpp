// Id index: maps (partition, id), the key of a document, to its location, for all partitions of an engine.
//
// An id map in shards, each with its own lock that is held for one lookup or one change: writers of different
// partitions contend only for these instructions, and growing a shard moves a thirty-second of the entries.
// The entries of a partition are removed shortly before it leaves the partition table. Lookups compare the
// partition and read only chunks of the partition that they ask for, which the caller found in the table. An
// entry therefore never leads to a partition that is gone, even if a new one has its address: the entries of
// the old one were removed first.
//
// Most partitions that are read from images are only searched and never asked for an id, so their ids are
// entered by the first lookup (Partition::ids()). Every writer looks up before it changes anything, so until
// then the chunks are as they were read. Deferred ids count in size() and memory_bytes() from the beginning.
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

  // `gate`: the gate of the index's owner; ids are entered inside it.
  explicit IdIndex(base::ForkGate& gate) noexcept : gate_(gate) {}

  // Uses bits of the key's hash that the maps do not use.
  [[nodiscard]] static size_t shard_number(uint64_t hash) noexcept { return hash >> 59; }

  // The caller holds an epoch guard. The document may be unpublished, or deleted by now.
  [[nodiscard]] std::optional<Location> find(const Partition& partition, const Id& id) const {
    enter_deferred(partition);
    const uint64_t hash = hash_of(partition, id);
    const Shard& shard = shard_of(hash);
    const std::shared_lock lock(shard.mutex);
    return shard.map.find(partition, id, hash);
  }
  // Same as find(), under the lock, so that the document cannot be moved: calls visit(location) if it exists.
  template <class Visit>
  void look_up(const Partition& partition, const Id& id, Visit&& visit) const {
    enter_deferred(partition);
    const uint64_t hash = hash_of(partition, id);
    const Shard& shard = shard_of(hash);
    const std::shared_lock lock(shard.mutex);
    if (const std::optional<Location> location = shard.map.find(partition, id, hash)) visit(*location);
  }
  // Returns false if the partition has the id. Strong exception guarantee.
  [[nodiscard]] bool add(const Id& id, Location location) {
    enter_deferred(*location.partition);
    if (!enter(id, location)) return false;
    count(1);
    return true;
  }
  // Registers all n documents, with distinct ids, of a partition that no other thread knows yet; they are
  // entered when the first of its ids is looked up.
  void defer(const Partition& partition, size_t n) noexcept {
    count(n);
    partition.ids().store(Partition::Ids::deferred, std::memory_order_release);
  }
  // Takes back defer(). Returns false if the ids are entered already and must be erased one by one. The
  // caller has the partition's turn, or no other thread knows the partition. Nothing is entered afterwards.
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
  // The partition must have the id.
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
  // Enters the partition's deferred ids; required before a move.
  void enter_deferred(const Partition& partition) const {
    if (partition.ids().load(std::memory_order_acquire) != Partition::Ids::entered) enter_all(partition);
  }

  // Locks all shards for its lifetime; only move() changes locations.
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
    // The document at `from`, whose key has this hash, is now at `to`.
    void move(uint64_t hash, Location from, LocalDoc to) noexcept {
      index_.shard_of(hash).map.move(hash, from, to);
    }

   private:
    IdIndex& index_;
  };

  // Called in the child of a fork, without other threads: the threads that held shards do not exist here.
  void restart_after_fork() noexcept {
    for (Shard& shard : shards_) new (&shard.mutex) std::shared_mutex;
  }

  // Includes announced and deferred documents.
  [[nodiscard]] size_t size() const noexcept { return n_.load(std::memory_order_relaxed); }
  // Estimated for the usual distribution of ids over the shards, which never shrink: the real size of each
  // depends on the hash seed, which no statistic may disclose.
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
  std::atomic<size_t> most_{0};  // maximum of n_ so far
};

}  // namespace scrubjay::engine
