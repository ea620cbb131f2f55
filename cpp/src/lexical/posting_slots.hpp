// Posting slots: the parts of a posting table that has a dictionary. Private to posting_table*.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "base/hash.hpp"
#include "lexical/posting_table.hpp"

namespace scrubjay::lexical {

inline constexpr uint32_t kListBit = 0x80000000u;  // in Slot::count: the postings are in a block
inline constexpr uint32_t kInTransit =
    0xffffffffu;  // they are just moving there; readers wait these few instructions
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
// bitmap, zero if there is none.
struct PostingTable::Slot {
  std::atomic<uint64_t> key{0};
  std::atomic<uint64_t> words[2] = {};
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> term_at{0};  // where a long term's bytes begin

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

struct PostingTable::Table {
  explicit Table(size_t n) : n_slots(n), slots(static_cast<Slot*>(base::allocate_aligned(n * sizeof(Slot)))) {
    static_assert(sizeof(Slot) == 32);
    for (size_t i = 0; i < n; ++i) new (slots + i) Slot;
  }
  ~Table() { base::free_aligned(slots); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Packed short terms share their high bytes, so the key is mixed; then scaled to any (not only power of
  // two) size.
  [[nodiscard]] size_t home(uint64_t key) const noexcept {
    const uint64_t mixed = base::mix64(key, 0x9e3779b97f4a7c15ull);
    return static_cast<size_t>((static_cast<uint64_t>(static_cast<uint32_t>(mixed)) * n_slots) >> 32);
  }
  // Four fifths full at most: a word that is not there is then missed after a dozen slots. Small tables, of
  // which there may be a million, seven eighths.
  static constexpr size_t kSmall = 256;
  [[nodiscard]] static size_t most_terms(size_t n_slots) noexcept {
    return n_slots < kSmall ? n_slots * 7 / 8 : n_slots * 4 / 5;
  }
  // For that many terms, and one more without growing.
  [[nodiscard]] static size_t slots_for(size_t n_terms) noexcept { return (n_terms + 1) * 5 / 4 + 2; }
  [[nodiscard]] size_t next(size_t i) const noexcept { return i + 1 == n_slots ? 0 : i + 1; }

  // Of a term that is not there; there is room.
  [[nodiscard]] Slot& insert(uint64_t key, uint32_t term_at) noexcept {
    size_t i = home(key);
    while (slots[i].key.load(std::memory_order_relaxed) != 0) i = next(i);
    slots[i].term_at.store(term_at, std::memory_order_relaxed);
    slots[i].key.store(key, std::memory_order_release);
    return slots[i];
  }

  const size_t n_slots;
  Slot* const slots;
};

}  // namespace scrubjay::lexical
