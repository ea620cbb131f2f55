// Interner: maps strings to dense integer codes.
//
// Strings are numbered 0, 1, 2, ... in order of first appearance. One writer, any number of readers under an
// epoch guard; a reader finds at least the strings of the documents in its snapshot. The bytes are not owned
// and must not move.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string_view>

#include "base/growing.hpp"
#include "base/probing.hpp"

namespace scrubjay::filter {

class Interner {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  Interner() = default;
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;
  ~Interner() { ::operator delete(table_.load(std::memory_order_relaxed)); }

  // `hash` throughout: base::seeded_hash64(text).
  // --- for readers -------------------------------------------------------------------------------
  [[nodiscard]] uint32_t find(std::string_view text, uint64_t hash) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    if (!table) return kNone;
    uint32_t i = table->home(static_cast<uint32_t>(hash));
    for (uint32_t left = table->probing.most(); left != 0; --left, i = (i + 1) & table->mask) {
      const uint32_t slot = table->slots[i].load(std::memory_order_acquire);
      if (slot == 0) break;
      const Entry& entry = entries_.read()[slot - 1];
      if (entry.hash == static_cast<uint32_t>(hash) && entry.text() == text) return slot - 1;
    }
    return kNone;
  }
  [[nodiscard]] uint32_t find(std::string_view text) const noexcept {
    return find(text, base::seeded_hash64(text));
  }
  [[nodiscard]] uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string_view at(uint32_t number) const noexcept { return entries_.read()[number].text(); }

  // --- for the writer ----------------------------------------------------------------------------
  // Adds a string that find() did not find. Strong exception guarantee.
  uint32_t add(std::string_view text, uint64_t hash) {
    const uint32_t number = size_.load(std::memory_order_relaxed);
    entries_.reserve(number + 1, number);
    Table* table = table_.load(std::memory_order_relaxed);
    if (!table) {
      table = rebuild(4, base::Probing::fresh(), number);
    } else if ((number + 1) * 4 > (table->mask + 1) * 3) {
      table = rebuild(2 * (table->mask + 1), table->probing, number);
    }
    entries_.data()[number] = {text.data(), static_cast<uint32_t>(text.size()), static_cast<uint32_t>(hash)};
    while (!table->place(static_cast<uint32_t>(hash), number))
      table = rebuild(table->mask + 1, table->probing.harder(), number);
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
  // A slot holds a number + 1; 0: empty.
  struct Table {
    uint32_t mask;
    base::Probing probing;
    std::atomic<uint32_t> slots[1];

    [[nodiscard]] uint32_t home(uint32_t hash) const noexcept { return probing.home(hash) & mask; }
    // Returns false if no slot is free within the probe limit.
    [[nodiscard]] bool place(uint32_t hash, uint32_t number) noexcept {
      uint32_t i = home(hash);
      for (uint32_t left = probing.most(); left != 0; --left, i = (i + 1) & mask) {
        if (slots[i].load(std::memory_order_relaxed) != 0) continue;
        slots[i].store(number + 1, std::memory_order_release);
        return true;
      }
      return false;
    }
  };
  [[nodiscard]] static size_t table_bytes(uint32_t n_slots) noexcept {
    return sizeof(Table) + (n_slots - 1) * sizeof(std::atomic<uint32_t>);
  }

  [[nodiscard]] Table* rebuild(uint32_t n_slots, base::Probing probing, uint32_t n_used) {
    Table* old = table_.load(std::memory_order_relaxed);
    auto* rebuilt = new (::operator new(table_bytes(n_slots))) Table{n_slots - 1, probing, {}};
    for (uint32_t i = 1; i < n_slots; ++i) new (&rebuilt->slots[i]) std::atomic<uint32_t>(0);
    for (uint32_t number = 0; number < n_used;) {
      if (rebuilt->place(entries_.data()[number].hash, number)) {
        ++number;
        continue;
      }
      rebuilt->probing = rebuilt->probing.harder();  // and start again
      for (uint32_t i = 0; i < n_slots; ++i) rebuilt->slots[i].store(0, std::memory_order_relaxed);
      number = 0;
    }
    table_.store(rebuilt, std::memory_order_release);
    if (old) base::retire(old, [](void* raw) noexcept { ::operator delete(raw); });
    return rebuilt;
  }

  std::atomic<Table*> table_{nullptr};
  std::atomic<uint32_t> size_{0};
  base::GrowingArray<Entry> entries_;
};

}  // namespace scrubjay::filter
