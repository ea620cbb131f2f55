// Partition table: maps a scope to its partition.
//
// Open addressing (probe limit: base/probing.hpp). Readers look up without a lock, in time that does not
// depend on the number of other partitions; the writer replaces the table when it grows. Readers hold an
// epoch guard.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/epoch.hpp"
#include "base/probing.hpp"
#include "engine/partition.hpp"

namespace scrubjay::engine {

class PartitionTable {
 public:
  explicit PartitionTable(base::Probing probing = base::Probing::fresh()) noexcept : first_(probing) {}
  PartitionTable(const PartitionTable&) = delete;
  PartitionTable& operator=(const PartitionTable&) = delete;
  ~PartitionTable() {
    for_each([](Partition& partition) { delete &partition; });
    delete table_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] Partition* find(std::string_view key, uint64_t hash) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    if (!table) return nullptr;
    size_t i = table->home(hash);
    for (uint32_t left = table->probing.most(); left != 0; --left, i = table->next(i)) {
      Partition* partition = table->slots[i].load(std::memory_order_acquire);
      if (!partition) break;
      if (partition != removed() && partition->scope()->hash() == hash && partition->scope()->key() == key)
        return partition;
    }
    return nullptr;
  }

  // For the writer. The partition's scope must not be in the table. If this throws, the caller
  // keeps the partition.
  Partition& insert(std::unique_ptr<Partition>&& partition) {
    Table* table = table_.load(std::memory_order_relaxed);
    if (!table) {
      table = &rebuild(first_);
    } else if ((n_used_ + 1) * 2 > table->mask + 1) {
      table = &rebuild(table->probing);
    }
    Partition& inserted = *partition;
    while (!table->put(&inserted)) table = &rebuild(table->probing.harder());
    static_cast<void>(partition.release());
    ++n_used_;
    ++n_partitions_;
    return inserted;
  }
  // Unlinks and retires a partition.
  void remove(Partition& partition) {
    Table* table = table_.load(std::memory_order_relaxed);
    size_t i = table->home(partition.scope()->hash());
    while (table->slots[i].load(std::memory_order_relaxed) != &partition) i = table->next(i);
    table->slots[i].store(removed(), std::memory_order_release);
    --n_partitions_;
    base::retire(std::unique_ptr<Partition>(&partition));
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    const Table* table = table_.load(std::memory_order_acquire);
    for (size_t i = 0; table && i <= table->mask; ++i) {
      Partition* partition = table->slots[i].load(std::memory_order_acquire);
      if (partition && partition != removed()) visit(*partition);
    }
  }
  [[nodiscard]] size_t n_partitions() const noexcept { return n_partitions_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    return table ? (table->mask + 1) * sizeof(std::atomic<Partition*>) : 0;
  }

 private:
  struct Table {
    Table(size_t n_slots, const base::Probing& how)
        : mask(n_slots - 1), probing(how), slots(new std::atomic<Partition*>[n_slots]()) {}
    [[nodiscard]] size_t home(uint64_t hash) const noexcept { return probing.home(hash) & mask; }
    [[nodiscard]] size_t next(size_t i) const noexcept { return (i + 1) & mask; }
    // Returns false if no slot is free within the probe limit.
    [[nodiscard]] bool put(Partition* partition) noexcept {
      size_t i = home(partition->scope()->hash());
      for (uint32_t left = probing.most(); left != 0; --left, i = next(i)) {
        if (slots[i].load(std::memory_order_relaxed)) continue;
        slots[i].store(partition, std::memory_order_release);
        return true;
      }
      return false;
    }
    const size_t mask;
    const base::Probing probing;
    const std::unique_ptr<std::atomic<Partition*>[]> slots;
  };
  // Tombstone of a removed partition, so that probing continues past it.
  [[nodiscard]] static Partition* removed() noexcept {
    return reinterpret_cast<Partition*>(alignof(Partition));
  }

  Table& rebuild(base::Probing probing) {
    size_t n_slots = 16;
    while (n_slots < 4 * (n_partitions_ + 1)) n_slots *= 2;
    std::unique_ptr<Table> table;
    for (bool placed = false; !placed; probing = probing.harder()) {
      placed = true;
      table = std::make_unique<Table>(n_slots, probing);
      for_each([&](Partition& partition) { placed = placed && table->put(&partition); });
    }
    n_used_ = n_partitions_;
    Table* published = table.get();
    base::retire(std::unique_ptr<Table>(table_.exchange(table.release(), std::memory_order_acq_rel)));
    return *published;
  }

  const base::Probing first_;  // for the first table
  std::atomic<Table*> table_{nullptr};
  size_t n_used_ = 0;  // occupied slots, removed ones included
  std::atomic<size_t> n_partitions_{0};
};

}  // namespace scrubjay::engine
