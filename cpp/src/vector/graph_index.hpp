// Graph index: usearch's HNSW index with our own memory. Private to the graph's source files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <usearch/index.hpp>
#include <utility>

#include "base/growing.hpp"
#include "vector/graph_links.hpp"

namespace scrubjay::vector {

// usearch checks for null and is not exception-safe.
template <class T>
struct NullAllocator {
  using value_type = T;
  NullAllocator() = default;
  template <class Other>
  explicit NullAllocator(const NullAllocator<Other>&) noexcept {}
  [[nodiscard]] T* allocate(size_t n) noexcept {
    return static_cast<T*>(
        ::operator new(n * sizeof(T), std::align_val_t{base::kCacheLineBytes}, std::nothrow));
  }
  void deallocate(T* memory, size_t) noexcept { base::free_aligned(memory); }
  bool operator==(const NullAllocator&) const noexcept { return true; }
};

// Memory of nodes: large blocks that are freed together. Nodes are not freed individually, so an index that
// ran out of memory for a node can still be destroyed (usearch would read the level of the missing node). A
// copy is empty: usearch copies the allocator first and the nodes afterwards.
class NodeTape {
 public:
  using value_type = char;
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  NodeTape() = default;
  NodeTape(const NodeTape&) noexcept {}
  NodeTape(NodeTape&& other) noexcept { swap(other); }
  NodeTape& operator=(NodeTape other) noexcept {
    swap(other);
    return *this;
  }
  ~NodeTape() { reset(); }

  [[nodiscard]] char* allocate(size_t n_bytes) noexcept {
    n_bytes = (n_bytes + 7) / 8 * 8;
    if (n_bytes > left_ && !add_block(n_bytes)) return nullptr;
    char* place = next_;
    next_ += n_bytes;
    left_ -= n_bytes;
    return place;
  }
  // usearch passes null to free everything.
  void deallocate(char* memory, size_t) noexcept {
    if (!memory) reset();
  }
  void reset() noexcept {
    while (last_) base::free_aligned(std::exchange(last_, last_->previous));
    next_ = nullptr;
    left_ = n_bytes_ = 0;
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return n_bytes_ - left_ + base::resident_bytes(left_, 0);
  }

 private:
  struct alignas(base::kCacheLineBytes) Block {
    Block* previous;
  };

  void swap(NodeTape& other) noexcept {
    std::swap(last_, other.last_);
    std::swap(next_, other.next_);
    std::swap(left_, other.left_);
    std::swap(n_bytes_, other.n_bytes_);
  }
  [[nodiscard]] bool add_block(size_t n_bytes) noexcept {
    const size_t size = std::max(n_bytes, kBlockBytes - sizeof(Block));
    void* memory =
        ::operator new(sizeof(Block) + size, std::align_val_t{base::kCacheLineBytes}, std::nothrow);
    if (!memory) return false;
    last_ = ::new (memory) Block{last_};
    next_ = static_cast<char*>(memory) + sizeof(Block);
    left_ = size;
    n_bytes_ += sizeof(Block) + size;
    return true;
  }

  Block* last_ = nullptr;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t n_bytes_ = 0;
};

using Index = unum::usearch::index_gt<float, uint32_t, uint32_t, NullAllocator<char>, NodeTape>;

static_assert(unum::usearch::has_reset<NodeTape>(), "nodes would be freed one by one");

// Returns an index without nodes. Throws std::bad_alloc.
[[nodiscard]] inline Index make_index(uint32_t connectivity) {
  auto result = Index::make({connectivity, connectivity * 2});
  if (result.error) {
    (void)result.error.release();
    throw std::bad_alloc();
  }
  return std::move(result.index);
}
// Reserves room for that many nodes, added by one writer: adding then never allocates. Throws std::bad_alloc.
inline void reserve(Index& index, size_t n_nodes) {
  if (!index.try_reserve(unum::usearch::index_limits_t(std::max<size_t>(n_nodes, 1), 1)))
    throw std::bad_alloc();
}
// Returns an index with these nodes, to be extended (graph_links.cpp). Throws std::bad_alloc.
[[nodiscard]] Index index_of(const GraphLinks& links);

}  // namespace scrubjay::vector
