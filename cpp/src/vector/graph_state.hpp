// Graph state: what a graph is made of. Private to the graph's files.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "vector/column.hpp"
#include "vector/graph.hpp"
#include "vector/graph_index.hpp"

namespace scrubjay::vector {

// Where a vector lies, and what makes a similarity of it. What is published never changes, so a copy is as
// good.
struct RowNode {
  const char* row;
  RowScale scale;
};
struct CodeNode {
  const uint8_t* code;
  float factor;
  float bias;
};

struct Graph::State {
  GraphOptions build;
  ColumnOptions options;
  std::vector<RowNode> rows;  // by slot; one of these two is empty
  std::vector<CodeNode> codes;
  std::vector<uint32_t> n_covered;
  Index index;
  mutable std::atomic<uint64_t> contexts_taken{0};  // a bit for each search context

  [[nodiscard]] bool coded() const noexcept { return !codes.empty(); }
  [[nodiscard]] size_t size() const noexcept { return rows.size() + codes.size(); }

  // An index without nodes. Throws std::bad_alloc.
  void make_index();
  // Room for so many nodes; for one writer now and kMaxSearchers readers later: adding never grows, reserving
  // moves contexts. Throws std::bad_alloc.
  void reserve(size_t n_nodes);
  // Notes where the vectors of these documents lie, behind those that are noted.
  void note(std::span<const Column* const> columns, std::span<const uint32_t> docs, bool by_codes);

  // A search context for one call; -1 if all are taken.
  class Context {
   public:
    explicit Context(std::atomic<uint64_t>& taken) noexcept : taken_(taken) {
      uint64_t bits = taken_.load(std::memory_order_relaxed);
      while (~bits != 0) {
        const int free = std::countr_one(bits);
        if (taken_.compare_exchange_weak(bits, bits | (uint64_t{1} << free), std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
          number_ = free;
          return;
        }
      }
    }
    ~Context() {
      if (number_ >= 0) taken_.fetch_and(~(uint64_t{1} << number_), std::memory_order_release);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    [[nodiscard]] int number() const noexcept { return number_; }

   private:
    std::atomic<uint64_t>& taken_;
    int number_ = -1;
  };
};

// Whether every one of the documents has a code that can be compared (not one that is always looked at).
[[nodiscard]] inline bool all_coded(std::span<const Column* const> columns,
                                    std::span<const uint32_t> docs) noexcept {
  for (const uint32_t doc : docs) {
    const Codes* codes = columns[doc >> 16]->codes();
    if (!codes || codes->size() <= (doc & 0xffffu) || !(codes->biases()[doc & 0xffffu] <= 0.0f)) return false;
  }
  return true;
}

}  // namespace scrubjay::vector
