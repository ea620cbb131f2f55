// Graph state: what a graph is made of. Private to the graph's files.
#pragma once

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
  uint32_t doc;
  const char* list = nullptr;  // its neighbours on the ground level (Lists), of a finished graph
};
struct CodeNode {
  const uint8_t* code;
  float factor;
  float bias;
  uint32_t doc;
  const char* list = nullptr;
};

struct Graph::State {
  GraphOptions build;
  ColumnOptions options;
  std::vector<RowNode> rows;  // by slot; one of these two is empty
  std::vector<CodeNode> codes;
  std::vector<uint32_t> n_covered;
  Index index;
  uint32_t entry = 0;  // where searches begin: the first node on the highest level

  [[nodiscard]] bool coded() const noexcept { return !codes.empty(); }
  [[nodiscard]] size_t size() const noexcept { return rows.size() + codes.size(); }
  // usearch knows it too, but where a walk would wait for it.
  [[nodiscard]] uint32_t doc_of(uint32_t slot) const noexcept {
    return coded() ? codes[slot].doc : rows[slot].doc;
  }
  [[nodiscard]] const char*& list_of(uint32_t slot) noexcept {
    return coded() ? codes[slot].list : rows[slot].list;
  }

  // An index without nodes. Throws std::bad_alloc.
  void make_index();
  // Room for so many nodes, added by one writer: adding never grows. Throws std::bad_alloc.
  void reserve(size_t n_nodes);
  // Notes where the vectors of these documents lie, behind those that are noted.
  void note(std::span<const Column* const> columns, std::span<const uint32_t> docs, bool by_codes);
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
