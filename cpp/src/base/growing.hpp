// Growing arrays: how does one writer append while readers read, without a lock?
//
// Each of these has one writer at a time and any number of readers. Elements at positions that a reader knows
// to be published (by an atomic counter elsewhere, stored with release and loaded with acquire) never change.
// A buffer that must move is copied, published and retired (base/epoch.hpp), so readers hold an EpochGuard.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/epoch.hpp"

namespace scrubjay::base {

inline constexpr size_t kCacheLineBytes = 64;

[[nodiscard]] inline void* allocate_aligned(size_t n_bytes) {
  return ::operator new(n_bytes, std::align_val_t{kCacheLineBytes});
}
inline void free_aligned(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t{kCacheLineBytes});
}

// Of large memory only the pages that were written to are really there.
inline constexpr size_t kPageBytes = 4096, kLargeBytes = 16 * kPageBytes;
[[nodiscard]] constexpr size_t resident_bytes(size_t n_reserved, size_t n_written) noexcept {
  if (n_reserved < kLargeBytes) return n_reserved;
  return std::min(n_reserved, (n_written + kPageBytes - 1) / kPageBytes * kPageBytes);
}

// A contiguous array. `T` is trivially copyable. Memory is aligned to a cache line.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { free_aligned(data_.load(std::memory_order_relaxed)); }

  [[nodiscard]] T* data() noexcept { return data_.load(std::memory_order_relaxed); }              // writer
  [[nodiscard]] const T* read() const noexcept { return data_.load(std::memory_order_acquire); }  // readers
  [[nodiscard]] size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return resident_bytes(capacity_ * sizeof(T), n_asked_ * sizeof(T));
  }

  // Makes room for `n` elements, keeping the first `n_used`. Grows by half, so that slack stays near a fifth.
  void reserve(size_t n, size_t n_used) {
    n_asked_ = std::max(n_asked_, n);
    if (n <= capacity_) return;
    const size_t capacity = std::max(n, capacity_ + capacity_ / 2 + 2);
    T* grown = static_cast<T*>(allocate_aligned(capacity * sizeof(T)));
    T* old = data();
    if (n_used != 0) std::memcpy(grown, old, n_used * sizeof(T));
    data_.store(grown, std::memory_order_release);
    capacity_ = capacity;
    if (old) retire(old, [](void* raw) noexcept { free_aligned(raw); });
  }

 private:
  std::atomic<T*> data_{nullptr};
  size_t capacity_ = 0;
  size_t n_asked_ = 0;
};

// Fixed-size rows of up to 65,536 documents in blocks of 1,024 that never move once they are full size, so
// that a large chunk grows without copying and a small one stays small (its only block grows by halves).
class RowBlocks {
 public:
  static constexpr uint32_t kRowsPerBlock = 1024;
  static constexpr uint32_t kMaxBlocks = 64;

  explicit RowBlocks(size_t row_bytes) noexcept : row_bytes_(row_bytes) {}
  RowBlocks(const RowBlocks&) = delete;
  RowBlocks& operator=(const RowBlocks&) = delete;
  ~RowBlocks() {
    free_aligned(first_.load(std::memory_order_relaxed));
    if (Table* table = table_.load(std::memory_order_relaxed)) {
      for (std::atomic<char*>& block : table->blocks) free_aligned(block.load(std::memory_order_relaxed));
      delete table;
    }
  }

  [[nodiscard]] size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    const size_t n_unwritten = n_allocated_rows_ > n_asked_ ? n_allocated_rows_ - n_asked_ : 0;
    const size_t block = std::min<size_t>(n_allocated_rows_, kRowsPerBlock) * row_bytes_;
    const size_t last = block - std::min(block, n_unwritten * row_bytes_);
    return n_allocated_rows_ * row_bytes_ - block + resident_bytes(block, last) +
           (table_.load(std::memory_order_relaxed) ? sizeof(Table) : 0);
  }

  // The block that holds rows [1024 * i, 1024 * (i + 1)); readers, for published rows only.
  [[nodiscard]] const char* block(uint32_t i) const noexcept {
    if (i == 0) return first_.load(std::memory_order_acquire);
    return table_.load(std::memory_order_acquire)->blocks[i].load(std::memory_order_acquire);
  }
  [[nodiscard]] const char* row(uint32_t doc) const noexcept {
    return block(doc / kRowsPerBlock) + (doc % kRowsPerBlock) * row_bytes_;
  }

  // The writer's place for row `doc`, allocated if needed; `n_used` rows are kept when the first block moves.
  [[nodiscard]] char* place(uint32_t doc, uint32_t n_used) {
    const uint32_t i = doc / kRowsPerBlock;
    n_asked_ = std::max<size_t>(n_asked_, doc + 1);
    if (i == 0) {
      grow_first(doc + 1, std::min(n_used, kRowsPerBlock));
      return first_.load(std::memory_order_relaxed) + doc * row_bytes_;
    }
    if (!table_.load(std::memory_order_relaxed)) table_.store(new Table, std::memory_order_release);
    std::atomic<char*>& slot = table_.load(std::memory_order_relaxed)->blocks[i];
    if (!slot.load(std::memory_order_relaxed)) {
      slot.store(static_cast<char*>(allocate_aligned(kRowsPerBlock * row_bytes_)), std::memory_order_release);
      n_allocated_rows_ += kRowsPerBlock;
    }
    return slot.load(std::memory_order_relaxed) + (doc % kRowsPerBlock) * row_bytes_;
  }

 private:
  struct Table {
    std::atomic<char*> blocks[kMaxBlocks] = {};
  };

  void grow_first(uint32_t n_rows, uint32_t n_used) {
    if (n_rows <= first_rows_) return;
    const uint32_t rows = std::min(kRowsPerBlock, std::max(n_rows, first_rows_ + first_rows_ / 2 + 4));
    char* grown = static_cast<char*>(allocate_aligned(rows * row_bytes_));
    char* old = first_.load(std::memory_order_relaxed);
    if (old && n_used != 0) std::memcpy(grown, old, std::min(n_used, first_rows_) * row_bytes_);
    first_.store(grown, std::memory_order_release);
    n_allocated_rows_ += rows - first_rows_;
    first_rows_ = rows;
    if (old) retire(old, [](void* raw) noexcept { free_aligned(raw); });
  }

  const size_t row_bytes_;
  std::atomic<char*> first_{nullptr};
  std::atomic<Table*> table_{nullptr};
  uint32_t first_rows_ = 0;
  size_t n_allocated_rows_ = 0;
  size_t n_asked_ = 0;
};

// Bytes that are appended and never move: a list of blocks, doubling up to 64 KB.
class ByteArena {
 public:
  ByteArena() = default;
  ByteArena(const ByteArena&) = delete;
  ByteArena& operator=(const ByteArena&) = delete;
  ~ByteArena() {
    while (last_) {
      Block* previous = last_->previous;
      ::operator delete(last_);
      last_ = previous;
    }
  }

  [[nodiscard]] char* allocate(size_t n_bytes) {
    if (n_bytes > left_) add_block(n_bytes);
    char* place = next_;
    next_ += n_bytes;
    left_ -= n_bytes;
    return place;
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return memory_bytes_ - left_ + resident_bytes(left_, 0);
  }

 private:
  struct Block {
    Block* previous;
  };
  void add_block(size_t n_bytes) {
    const size_t usual = std::clamp<size_t>(memory_bytes_ / 2, 256, 65536);
    const size_t size = std::max(usual, n_bytes);
    Block* block = static_cast<Block*>(::operator new(sizeof(Block) + size));
    block->previous = last_;
    last_ = block;
    next_ = reinterpret_cast<char*>(block + 1);
    left_ = size;
    memory_bytes_ += sizeof(Block) + size;
  }

  Block* last_ = nullptr;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t memory_bytes_ = 0;
};

}  // namespace scrubjay::base
