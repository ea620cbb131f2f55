// Partition table: which partition holds a scope's documents?
//
// Open addressing from scope to partition. Readers look up without a lock, in time that does not depend on
// how many other partitions there are; the writer replaces the table when it grows. Readers hold an epoch
// guard.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/epoch.hpp"
#include "engine/partition.hpp"

namespace scrubjay::engine {

class PartitionTable {
 public:
  PartitionTable() = default;
  PartitionTable(const PartitionTable&) = delete;
  PartitionTable& operator=(const PartitionTable&) = delete;
  ~PartitionTable() {
    for_each([](Partition& partition) { delete &partition; });
    delete table_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] Partition* find(std::string_view key, uint64_t hash) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    if (!table) return nullptr;
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
      Partition* partition = table->slots[i].load(std::memory_order_acquire);
      if (!partition) return nullptr;
      if (partition != removed() && partition->scope()->hash() == hash && partition->scope()->key() == key)
        return partition;
    }
  }

  // The writer. The partition's scope is not in the table.
  Partition& insert(std::unique_ptr<Partition> partition) {
    Table* table = table_.load(std::memory_order_relaxed);
    if (!table || (n_used_ + 1) * 2 > table->mask + 1) table = &rebuild();
    Partition& inserted = *partition;
    put(*table, partition.release());
    ++n_used_;
    ++n_partitions_;
    return inserted;
  }
  // Unlinks and retires a partition.
  void remove(Partition& partition) {
    Table* table = table_.load(std::memory_order_relaxed);
    size_t i = partition.scope()->hash() & table->mask;
    while (table->slots[i].load(std::memory_order_relaxed) != &partition) i = (i + 1) & table->mask;
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
    const Table* table = table_.load(std::memory_order_relaxed);
    return table ? (table->mask + 1) * sizeof(std::atomic<Partition*>) : 0;
  }

 private:
  struct Table {
    explicit Table(size_t n_slots) : mask(n_slots - 1), slots(new std::atomic<Partition*>[n_slots]()) {}
    const size_t mask;
    const std::unique_ptr<std::atomic<Partition*>[]> slots;
  };
  // Stands where a partition was, so that probing goes on behind it.
  [[nodiscard]] static Partition* removed() noexcept {
    return reinterpret_cast<Partition*>(alignof(Partition));
  }

  static void put(Table& table, Partition* partition) noexcept {
    size_t i = partition->scope()->hash() & table.mask;
    while (table.slots[i].load(std::memory_order_relaxed)) i = (i + 1) & table.mask;
    table.slots[i].store(partition, std::memory_order_release);
  }
  Table& rebuild() {
    size_t n_slots = 16;
    while (n_slots < 4 * (n_partitions_ + 1)) n_slots *= 2;
    auto table = std::make_unique<Table>(n_slots);
    for_each([&](Partition& partition) { put(*table, &partition); });
    n_used_ = n_partitions_;
    Table* published = table.get();
    base::retire(std::unique_ptr<Table>(table_.exchange(table.release(), std::memory_order_acq_rel)));
    return *published;
  }

  std::atomic<Table*> table_{nullptr};
  size_t n_used_ = 0;  // slots that are not empty, removed ones included
  std::atomic<size_t> n_partitions_{0};
};

}  // namespace scrubjay::engine
