// Posting slots: the data structures of a posting table with a dictionary. Private to posting_table*.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "base/probing.hpp"
#include "lexical/posting_table.hpp"

namespace scrubjay::lexical {

inline constexpr uint32_t kListBit = 0x80000000u;  // in Slot::count: the postings are in a block
inline constexpr uint32_t kInTransit =
    0xffffffffu;  // being moved to a block; readers spin for these few instructions
inline constexpr uint32_t kFirstBlockCapacity = 8;
inline constexpr size_t kFirstTableSlots = 12;

[[nodiscard]] inline uint32_t pack(uint16_t offset, uint16_t payload) noexcept {
  return offset | (static_cast<uint32_t>(payload) << 16);
}

// A list of postings: this header, then capacity offsets, then capacity payloads.
struct PostingTable::Block {
  uint32_t capacity;
  std::atomic<uint32_t> n_dead;
  std::atomic<uint16_t> max_tf;
  std::atomic<uint16_t> max_length_code;
  std::atomic<uint32_t> shortest;

  [[nodiscard]] uint16_t* offsets() noexcept { return reinterpret_cast<uint16_t*>(this + 1); }
  [[nodiscard]] uint16_t* payloads() noexcept { return offsets() + capacity; }

  [[nodiscard]] static size_t bytes(uint32_t capacity) noexcept {
    return sizeof(Block) + size_t{capacity} * 2 * sizeof(uint16_t) + 4;  // a kernel may read two bytes beyond
  }
  [[nodiscard]] static size_t held_bytes(uint32_t capacity) noexcept {
    return base::held_bytes(bytes(capacity));
  }
  [[nodiscard]] static Block* make(uint32_t capacity) {
    Block* block = new (::operator new(bytes(capacity))) Block;
    block->capacity = capacity;
    block->n_dead.store(0, std::memory_order_relaxed);
    block->max_tf.store(0, std::memory_order_relaxed);
    block->max_length_code.store(0, std::memory_order_relaxed);
    block->shortest.store(Shortest().packed(), std::memory_order_relaxed);
    return block;
  }
  static void destroy(void* raw) noexcept { ::operator delete(raw); }

  void put(uint32_t i, uint16_t offset, uint16_t payload) noexcept {
    offsets()[i] = offset;
    payloads()[i] = payload;
    const auto tf = static_cast<uint16_t>(payload_tf(payload));
    const auto length = static_cast<uint16_t>(payload_length_code(payload));
    if (tf > max_tf.load(std::memory_order_relaxed)) max_tf.store(tf, std::memory_order_relaxed);
    if (length > max_length_code.load(std::memory_order_relaxed))
      max_length_code.store(length, std::memory_order_relaxed);
    Shortest lengths(shortest.load(std::memory_order_relaxed));
    lengths.add(tf, length);
    shortest.store(lengths.packed(), std::memory_order_relaxed);
  }
};

// words: up to four inline postings (offset | payload << 16), or the addresses of the block and of the ranked
// bitmap (zero: none).
struct PostingTable::Slot {
  std::atomic<uint64_t> key{0};
  std::atomic<uint64_t> words[2] = {};
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> term_at{0};  // offset of a long term's bytes

  [[nodiscard]] Block* block() const noexcept {
    return reinterpret_cast<Block*>(static_cast<uintptr_t>(words[0].load(std::memory_order_acquire)));
  }
  void set_block(Block* block) noexcept {
    words[0].store(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(block)), std::memory_order_release);
  }
  [[nodiscard]] RankedBitmap* ranked() const noexcept {
    return reinterpret_cast<RankedBitmap*>(static_cast<uintptr_t>(words[1].load(std::memory_order_acquire)));
  }
  void set_ranked(RankedBitmap* ranked) noexcept {
    words[1].store(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ranked)), std::memory_order_release);
  }
  [[nodiscard]] uint32_t inline_posting(uint32_t i) const noexcept {
    return static_cast<uint32_t>(words[i / 2].load(std::memory_order_acquire) >> (32 * (i % 2)));
  }
  void set_inline_posting(uint32_t i, uint32_t posting) noexcept {
    const unsigned shift = 32 * (i % 2);
    const uint64_t old = words[i / 2].load(std::memory_order_relaxed);
    const uint64_t mask = uint64_t{0xffffffffu} << shift;
    words[i / 2].store((old & ~mask) | (static_cast<uint64_t>(posting) << shift), std::memory_order_release);
  }
};

// Reference to a list, for sorting in the order of for_each().
struct PostingTable::Listed {
  uint64_t key;      // stored
  uint32_t at;       // its slot, or the first of its tiny postings
  uint32_t term_at;  // for a long term: offset of its bytes
};

struct PostingTable::Table {
  Table(size_t n, const base::Probing& how)
      : n_slots(n), probing(how), slots(static_cast<Slot*>(base::allocate_aligned(n * sizeof(Slot)))) {
    static_assert(sizeof(Slot) == 32);
    for (size_t i = 0; i < n; ++i) new (slots + i) Slot;
  }
  ~Table() { base::free_aligned(slots); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Scaled to any size, not only powers of two.
  [[nodiscard]] size_t home(uint64_t key) const noexcept {
    return static_cast<size_t>((uint64_t{probing.home_of_key(key)} * n_slots) >> 32);
  }
  // At most four fifths full: a lookup of an absent term then ends after a dozen slots. Small tables, of
  // which there may be a million, are up to seven eighths full.
  static constexpr size_t kSmall = 256;
  [[nodiscard]] static size_t most_terms(size_t n_slots) noexcept {
    return n_slots < kSmall ? n_slots * 7 / 8 : n_slots * 4 / 5;
  }
  // Enough for that many terms and one more without growing.
  [[nodiscard]] static constexpr size_t slots_for(size_t n_terms) noexcept {
    return (n_terms + 1) * 5 / 4 + 2;
  }
  [[nodiscard]] size_t next(size_t i) const noexcept { return i + 1 == n_slots ? 0 : i + 1; }

  // A free slot for an absent term; null if there is none within the probe limit.
  [[nodiscard]] Slot* free_slot(uint64_t key) noexcept {
    size_t i = home(key);
    for (uint32_t left = probing.most(); left != 0; --left, i = next(i))
      if (slots[i].key.load(std::memory_order_relaxed) == 0) return slots + i;
    return nullptr;
  }
  // Null as above; then nothing is changed.
  [[nodiscard]] Slot* insert(uint64_t key, uint32_t term_at) noexcept {
    Slot* slot = free_slot(key);
    if (!slot) return nullptr;
    slot->term_at.store(term_at, std::memory_order_relaxed);
    slot->key.store(key, std::memory_order_release);
    return slot;
  }
  // Copies the slots of another table; returns false if one of them does not fit.
  [[nodiscard]] bool copy(const Table& from) noexcept {
    for (size_t i = 0; i < from.n_slots; ++i) {
      const Slot& slot = from.slots[i];
      const uint64_t key = slot.key.load(std::memory_order_relaxed);
      if (key == 0) continue;
      Slot* to = free_slot(key);
      if (!to) return false;
      to->key.store(key, std::memory_order_relaxed);
      for (int w = 0; w < 2; ++w)
        to->words[w].store(slot.words[w].load(std::memory_order_relaxed), std::memory_order_relaxed);
      to->count.store(slot.count.load(std::memory_order_relaxed), std::memory_order_relaxed);
      to->term_at.store(slot.term_at.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    return true;
  }

  const size_t n_slots;
  const base::Probing probing;
  Slot* const slots;
};

}  // namespace scrubjay::lexical
