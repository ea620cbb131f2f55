// Interner: which number has a string?
//
// Strings are numbered 0, 1, 2, ... in the order in which they first came. One writer, any number of readers
// under an epoch guard; a reader finds at least the strings of the documents that its snapshot sees. The
// bytes belong to somebody else and stay where they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string_view>

#include "base/growing.hpp"
#include "base/hash.hpp"

namespace scrubjay::filter {

class Interner {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  Interner() = default;
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;
  ~Interner() { ::operator delete(table_.load(std::memory_order_relaxed)); }

  // --- readers -----------------------------------------------------------------------------------
  [[nodiscard]] uint32_t find(std::string_view text, uint64_t hash) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    if (!table) return kNone;
    for (uint32_t i = static_cast<uint32_t>(hash) & table->mask;; i = (i + 1) & table->mask) {
      const uint32_t slot = table->slots[i].load(std::memory_order_acquire);
      if (slot == 0) return kNone;
      const Entry& entry = entries_.read()[slot - 1];
      if (entry.hash == static_cast<uint32_t>(hash) && entry.text() == text) return slot - 1;
    }
  }
  [[nodiscard]] uint32_t find(std::string_view text) const noexcept { return find(text, base::hash64(text)); }
  [[nodiscard]] uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string_view at(uint32_t number) const noexcept { return entries_.read()[number].text(); }

  // --- the writer --------------------------------------------------------------------------------
  // Adds a string that find() did not find; the strong exception guarantee.
  uint32_t add(std::string_view text, uint64_t hash) {
    const uint32_t number = size_.load(std::memory_order_relaxed);
    entries_.reserve(number + 1, number);
    Table* table = table_.load(std::memory_order_relaxed);
    if (!table || (number + 1) * 4 > (table->mask + 1) * 3) table = grow(number);
    entries_.data()[number] = {text.data(), static_cast<uint32_t>(text.size()), static_cast<uint32_t>(hash)};
    place(*table, static_cast<uint32_t>(hash), number);
    size_.store(number + 1, std::memory_order_release);
    return number;
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    const Table* table = table_.load(std::memory_order_relaxed);
    return entries_.memory_bytes() + (table ? table_bytes(table->mask + 1) : 0);
  }

 private:
  struct Entry {
    const char* bytes;
    uint32_t n_bytes;
    uint32_t hash;
    [[nodiscard]] std::string_view text() const noexcept { return {bytes, n_bytes}; }
  };
  // A slot holds a number + 1; 0: free.
  struct Table {
    uint32_t mask;
    std::atomic<uint32_t> slots[1];
  };
  [[nodiscard]] static size_t table_bytes(uint32_t n_slots) noexcept {
    return sizeof(Table) + (n_slots - 1) * sizeof(std::atomic<uint32_t>);
  }

  static void place(Table& table, uint32_t hash, uint32_t number) noexcept {
    uint32_t i = hash & table.mask;
    while (table.slots[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & table.mask;
    table.slots[i].store(number + 1, std::memory_order_release);
  }

  [[nodiscard]] Table* grow(uint32_t n_used) {
    Table* old = table_.load(std::memory_order_relaxed);
    const uint32_t n_slots = old ? 2 * (old->mask + 1) : 4;
    auto* grown = static_cast<Table*>(::operator new(table_bytes(n_slots)));
    grown->mask = n_slots - 1;
    for (uint32_t i = 0; i < n_slots; ++i) new (&grown->slots[i]) std::atomic<uint32_t>(0);
    for (uint32_t number = 0; number < n_used; ++number) place(*grown, entries_.data()[number].hash, number);
    table_.store(grown, std::memory_order_release);
    if (old) base::retire(old, [](void* raw) noexcept { ::operator delete(raw); });
    return grown;
  }

  std::atomic<Table*> table_{nullptr};
  std::atomic<uint32_t> size_{0};
  base::GrowingArray<Entry> entries_;
};

}  // namespace scrubjay::filter
