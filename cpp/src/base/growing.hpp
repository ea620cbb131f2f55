// Growing arrays: append-only arrays with one writer and lock-free readers.
//
// Each array has one writer at a time and any number of readers. Elements at positions that are published (by
// an atomic counter kept elsewhere, stored with release and loaded with acquire) never change. A buffer that
// must move is copied, published and retired (base/epoch.hpp), so readers hold an EpochGuard.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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

// Bytes that an allocator uses for n bytes: one word before them, rounded up to 16 (glibc;
// others are similar).
inline constexpr size_t kAllocationStep = 16, kAllocationWord = sizeof(size_t);
[[nodiscard]] constexpr size_t held_bytes(size_t n_bytes) noexcept {
  if (n_bytes == 0) return 0;
  return std::max(2 * kAllocationStep,
                  (n_bytes + kAllocationWord + kAllocationStep - 1) / kAllocationStep * kAllocationStep);
}
// The largest request that takes no more memory than a request for n bytes.
[[nodiscard]] constexpr size_t bytes_to_use(size_t n_bytes) noexcept {
  return held_bytes(n_bytes) - kAllocationWord;
}

// Small arrays are not aligned: there may be a million of them, and alignment costs half a cache line each.
inline constexpr size_t kAlignedFromBytes = 512;
[[nodiscard]] inline void* allocate_array(size_t n_bytes) {
  return n_bytes < kAlignedFromBytes ? ::operator new(n_bytes) : allocate_aligned(n_bytes);
}
using FreeArray = void (*)(void*) noexcept;
[[nodiscard]] inline FreeArray free_array(size_t n_bytes) noexcept {
  if (n_bytes < kAlignedFromBytes) return [](void* memory) noexcept { ::operator delete(memory); };
  return [](void* memory) noexcept { free_aligned(memory); };
}
// Small arrays grow by a quarter and use the allocator's whole block; large ones grow by half, which keeps
// the average slack near a fifth.
[[nodiscard]] constexpr size_t grown_capacity(size_t capacity, size_t n_wanted,
                                              size_t element_bytes) noexcept {
  const size_t n = std::max(n_wanted, capacity + capacity / (capacity < 64 ? 4 : 2) + 2);
  return n * element_bytes < kAlignedFromBytes ? bytes_to_use(n * element_bytes) / element_bytes : n;
}

// Of a large allocation, only the pages that were written to are resident.
inline constexpr size_t kPageBytes = 4096, kLargeBytes = 16 * kPageBytes;
[[nodiscard]] constexpr size_t resident_bytes(size_t n_reserved, size_t n_written) noexcept {
  if (n_reserved < kLargeBytes) return held_bytes(n_reserved);
  return std::min(n_reserved, (n_written + kPageBytes - 1) / kPageBytes * kPageBytes);
}

// A contiguous array. `T` is trivially copyable. Memory is aligned to a cache line unless it is small.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { free_array(capacity_ * sizeof(T))(data_.load(std::memory_order_relaxed)); }

  [[nodiscard]] T* data() noexcept { return data_.load(std::memory_order_relaxed); }              // writer
  [[nodiscard]] const T* read() const noexcept { return data_.load(std::memory_order_acquire); }  // readers
  [[nodiscard]] size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return resident_bytes(size_t{capacity_} * sizeof(T), size_t{n_asked_} * sizeof(T));
  }

  // Makes room for `n` elements, keeping the first `n_used`.
  void reserve(size_t n, size_t n_used) {
    if (n > n_asked_) ask(n, n_used);
  }

 private:
  void ask(size_t n, size_t n_used) {
    if (n > capacity_) grow(n, n_used);
    n_asked_ = static_cast<uint32_t>(n);
  }
  void grow(size_t n, size_t n_used) {
    const size_t capacity = grown_capacity(capacity_, n, sizeof(T));
    if (capacity > std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
    T* grown = static_cast<T*>(allocate_array(capacity * sizeof(T)));
    T* old = data();
    if (n_used != 0) std::memcpy(grown, old, n_used * sizeof(T));
    data_.store(grown, std::memory_order_release);
    if (old) retire(old, free_array(capacity_ * sizeof(T)));
    capacity_ = static_cast<uint32_t>(capacity);
  }

  std::atomic<T*> data_{nullptr};
  uint32_t capacity_ = 0;
  uint32_t n_asked_ = 0;
};

// Fixed-size rows of up to 65,536 documents, in blocks of 1,024 rows that never move once they have
// their full size. A large chunk grows without copying, and a small one stays small: its only block
// grows by halves.
class RowBlocks {
 public:
  static constexpr uint32_t kRowsPerBlock = 1024;
  static constexpr uint32_t kMaxBlocks = 64;

  explicit RowBlocks(size_t row_bytes) noexcept : row_bytes_(static_cast<uint32_t>(row_bytes)) {}
  RowBlocks(const RowBlocks&) = delete;
  RowBlocks& operator=(const RowBlocks&) = delete;
  ~RowBlocks() {
    free_array(first_rows_ * row_bytes())(first_.load(std::memory_order_relaxed));
    if (Table* table = table_.load(std::memory_order_relaxed)) {
      for (std::atomic<char*>& block : table->blocks) free_aligned(block.load(std::memory_order_relaxed));
      delete table;
    }
  }

  [[nodiscard]] size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    if (n_allocated_rows_ == 0) return 0;
    const size_t n_unwritten = n_allocated_rows_ > n_asked_ ? n_allocated_rows_ - n_asked_ : 0;
    const size_t block = std::min(n_allocated_rows_, kRowsPerBlock) * row_bytes();
    const size_t last = block - std::min(block, n_unwritten * row_bytes());
    const size_t n_others = (n_allocated_rows_ - 1) / kRowsPerBlock;
    return n_others * held_bytes(block) + resident_bytes(block, last) +
           (table_.load(std::memory_order_relaxed) ? held_bytes(sizeof(Table)) : 0);
  }

  // Returns the block that holds rows [1024 * i, 1024 * (i + 1)). For readers, and published rows only.
  [[nodiscard]] const char* block(uint32_t i) const noexcept {
    if (i == 0) return first_.load(std::memory_order_acquire);
    return table_.load(std::memory_order_acquire)->blocks[i].load(std::memory_order_acquire);
  }
  [[nodiscard]] const char* row(uint32_t doc) const noexcept {
    return block(doc / kRowsPerBlock) + (doc % kRowsPerBlock) * row_bytes();
  }

  // Returns the memory of row `doc` for the writer, allocated if needed. `n_used` rows are preserved if the
  // first block moves.
  [[nodiscard]] char* place(uint32_t doc, uint32_t n_used) {
    const uint32_t i = doc / kRowsPerBlock;
    n_asked_ = std::max(n_asked_, doc + 1);
    if (i == 0) {
      grow_first(doc + 1, std::min(n_used, kRowsPerBlock));
      return first_.load(std::memory_order_relaxed) + doc * row_bytes();
    }
    if (!table_.load(std::memory_order_relaxed)) table_.store(new Table, std::memory_order_release);
    std::atomic<char*>& slot = table_.load(std::memory_order_relaxed)->blocks[i];
    if (!slot.load(std::memory_order_relaxed)) {
      slot.store(static_cast<char*>(allocate_aligned(kRowsPerBlock * row_bytes())),
                 std::memory_order_release);
      n_allocated_rows_ += kRowsPerBlock;
    }
    return slot.load(std::memory_order_relaxed) + (doc % kRowsPerBlock) * row_bytes();
  }

 private:
  struct Table {
    std::atomic<char*> blocks[kMaxBlocks] = {};
  };

  void grow_first(uint32_t n_rows, uint32_t n_used) {
    if (n_rows <= first_rows_) return;
    const auto rows = static_cast<uint32_t>(
        std::min<size_t>(kRowsPerBlock, grown_capacity(first_rows_, n_rows, row_bytes())));
    char* grown = static_cast<char*>(allocate_array(rows * row_bytes()));
    char* old = first_.load(std::memory_order_relaxed);
    if (old && n_used != 0) std::memcpy(grown, old, std::min(n_used, first_rows_) * row_bytes());
    first_.store(grown, std::memory_order_release);
    n_allocated_rows_ += rows - first_rows_;
    if (old) retire(old, free_array(first_rows_ * row_bytes()));
    first_rows_ = rows;
  }

  const uint32_t row_bytes_;
  uint32_t first_rows_ = 0;
  std::atomic<char*> first_{nullptr};
  std::atomic<Table*> table_{nullptr};
  uint32_t n_allocated_rows_ = 0;
  uint32_t n_asked_ = 0;
};

// Append-only bytes that never move: a list of blocks whose sizes double up to 64 KB.
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
    return left_ < kLargeBytes ? memory_bytes_ : memory_bytes_ - left_;
  }

 private:
  static constexpr size_t kLeastBlockBytes = 168;  // 192 with the headers of the block and the allocator

  struct Block {
    Block* previous;
  };
  void add_block(size_t n_bytes) {
    // The first one only just: many have no second, like those of scopes with one document.
    const size_t usual =
        memory_bytes_ == 0 ? 0 : std::clamp<size_t>(memory_bytes_ / 2, kLeastBlockBytes, 65536);
    const size_t size = bytes_to_use(sizeof(Block) + std::max(usual, n_bytes)) - sizeof(Block);
    Block* block = static_cast<Block*>(::operator new(sizeof(Block) + size));
    block->previous = last_;
    last_ = block;
    next_ = reinterpret_cast<char*>(block + 1);
    left_ = size;
    memory_bytes_ += held_bytes(sizeof(Block) + size);
  }

  Block* last_ = nullptr;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t memory_bytes_ = 0;
};

}  // namespace scrubjay::base
