// Id index: from (partition, id), the key of a document, to its place, for all partitions of an engine.
//
// An id map in shards, each under a lock of its own that is held for one look-up or one change: writers of
// different partitions meet only for these instructions, and a shard that grows moves a thirty-second of the
// entries. A partition has entries from before it is in the partition table (load_partition()) until shortly
// before it leaves it; look-ups compare the partition and read only chunks of the one they ask for, which the
// caller found in the table. So an entry never leads to a partition that is gone, even if a new one has its
// address: the entries of the old one went before it did.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>

#include "engine/id_map.hpp"

namespace scrubjay::engine {

class IdIndex {
 public:
  static constexpr size_t kShards = 32;

  // By bits of the key's hash that the maps do not use.
  [[nodiscard]] static size_t shard_number(uint64_t hash) noexcept { return hash >> 59; }

  // The caller holds an epoch guard. The document may not be published yet, or dead since.
  [[nodiscard]] std::optional<Location> find(const Partition& partition, const Id& id) const {
    const uint64_t hash = hash_of(partition, id);
    const Shard& shard = shard_of(hash);
    const std::shared_lock lock(shard.mutex);
    return shard.map.find(partition, id, hash);
  }
  // The same while the document cannot be moved: visit(location), if there is one.
  template <class Visit>
  void look_up(const Partition& partition, const Id& id, Visit&& visit) const {
    const uint64_t hash = hash_of(partition, id);
    const Shard& shard = shard_of(hash);
    const std::shared_lock lock(shard.mutex);
    if (const std::optional<Location> location = shard.map.find(partition, id, hash)) visit(*location);
  }
  // False if the partition has the id. Strong exception guarantee.
  [[nodiscard]] bool add(const Id& id, Location location) {
    const uint64_t hash = hash_of(*location.partition, id);
    Shard& shard = shard_of(hash);
    const std::unique_lock lock(shard.mutex);
    if (!shard.map.add(id, hash, location)) return false;
    const size_t n = n_.fetch_add(1, std::memory_order_relaxed) + 1;
    size_t most = most_.load(std::memory_order_relaxed);
    while (most < n && !most_.compare_exchange_weak(most, n, std::memory_order_relaxed)) {
    }
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

  // Announced documents included.
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
  [[nodiscard]] const Shard& shard_of(uint64_t hash) const noexcept { return shards_[shard_number(hash)]; }
  [[nodiscard]] Shard& shard_of(uint64_t hash) noexcept { return shards_[shard_number(hash)]; }

  static_assert(kShards == 32);
  std::array<Shard, kShards> shards_;
  std::atomic<size_t> n_{0};
  std::atomic<size_t> most_{0};  // that n_ ever was
};

}  // namespace scrubjay::engine
