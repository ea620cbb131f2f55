// Graph state: the data of a graph. Private to the graph's source files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/growing.hpp"
#include "vector/column.hpp"
#include "vector/graph.hpp"
#include "vector/packed_lists.hpp"

namespace scrubjay::vector {

// Address of a vector, the scale of its similarity, and the location of its neighbours on the ground level.
// Published data never changes, so it may be copied.
struct RowNode {
  const char* row;
  RowScale scale;
  uint32_t doc;
  uint32_t neighbours = 0;
};
struct CodeNode {
  float factor;
  uint32_t doc;
  uint32_t neighbours = 0;
};

// By slot, with as few bytes as possible, so that many nodes are cached; the address of a code follows from
// its document.
struct CodeNodes {
  std::vector<CodeNode> nodes;
  std::vector<float> biases;           // l2; otherwise empty
  std::vector<const uint8_t*> blocks;  // of base::RowBlocks, column by column
  size_t code_bytes = 0;

  [[nodiscard]] size_t size() const noexcept { return nodes.size(); }
  [[nodiscard]] CodeNode& operator[](uint32_t slot) noexcept { return nodes[slot]; }
  [[nodiscard]] const CodeNode& operator[](uint32_t slot) const noexcept { return nodes[slot]; }
  [[nodiscard]] float bias(uint32_t slot) const noexcept { return biases.empty() ? 0.0f : biases[slot]; }
  [[nodiscard]] const uint8_t* code(const CodeNode& node) const noexcept {
    return blocks[node.doc / base::RowBlocks::kRowsPerBlock] +
           node.doc % base::RowBlocks::kRowsPerBlock * code_bytes;
  }
  void announce(uint32_t slot) const noexcept {
    __builtin_prefetch(&nodes[slot]);
    if (!biases.empty()) __builtin_prefetch(&biases[slot]);
  }
  void reserve(size_t n, Metric metric) {
    nodes.reserve(n);
    if (metric == Metric::l2) biases.reserve(n);
  }
  void add(const Codes& codes, Metric metric, uint32_t doc);
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return nodes.capacity() * sizeof(CodeNode) + biases.capacity() * sizeof(float) +
           blocks.capacity() * sizeof(const uint8_t*);
  }
};
// Documents are numbered column << 16 | offset, so the number gives column and block.
static_assert(base::RowBlocks::kRowsPerBlock * base::RowBlocks::kMaxBlocks == 0x10000);

// A node on upper levels, and the location of its lists: one per level from the first on.
struct UpperNode {
  uint32_t slot;
  uint32_t neighbours;
  uint32_t level;
};

// The lists are packed consecutively: while a graph is built they take more than four times as much per node
// (graph_lists.hpp).
struct Graph::State {
  GraphOptions build;
  ColumnOptions options;
  std::vector<RowNode> rows;  // by slot; either rows or codes is empty
  CodeNodes codes;
  std::vector<uint32_t> n_covered;
  PackedLists ground;            // by slot
  std::vector<UpperNode> upper;  // by slot
  PackedLists upper_lists;
  uint32_t entry = 0;  // where searches begin: the first node on the highest level
  uint32_t highest_level = 0;

  [[nodiscard]] bool coded() const noexcept { return codes.size() != 0; }
  [[nodiscard]] size_t size() const noexcept { return rows.size() + codes.size(); }
  [[nodiscard]] uint32_t doc_of(uint32_t slot) const noexcept {
    return coded() ? codes[slot].doc : rows[slot].doc;
  }
  [[nodiscard]] uint32_t level_of(uint32_t slot) const noexcept {
    const auto node = find_upper(slot);
    return node == upper.end() || node->slot != slot ? 0 : node->level;
  }
  // Calls visit(slot) for the neighbours of a node on one of its levels, ascending.
  template <class Visit>
  void for_each_neighbour(uint32_t slot, uint32_t level, Visit&& visit) const {
    if (level == 0) {
      const uint32_t place = coded() ? codes[slot].neighbours : rows[slot].neighbours;
      return ground.for_each(place, slot, visit);
    }
    uint32_t place = find_upper(slot)->neighbours;
    for (; level > 1; --level) place = upper_lists.next(place);
    upper_lists.for_each(place, slot, visit);
  }
  [[nodiscard]] size_t memory_bytes() const noexcept;

  // Appends the locations of the vectors of these documents.
  void note(std::span<const Column* const> columns, std::span<const uint32_t> docs, bool by_codes);
  // Copies the edges: level_of(slot), and list_of(slot, level) as a range of slots, which may be the same
  // object each time. `order`: the slots in their new order, by those numbers; empty: unchanged.
  template <class LevelOf, class ListOf>
  void take_lists(LevelOf&& level_of, ListOf&& list_of, std::span<const uint32_t> order = {});

 private:
  void put_in_order(std::span<const uint32_t> order);
  [[nodiscard]] std::vector<UpperNode>::const_iterator find_upper(uint32_t slot) const noexcept {
    return std::lower_bound(upper.begin(), upper.end(), slot,
                            [](const UpperNode& node, uint32_t wanted) { return node.slot < wanted; });
  }
};

template <class LevelOf, class ListOf>
void Graph::State::take_lists(LevelOf&& level_of, ListOf&& list_of, std::span<const uint32_t> order) {
  const auto n = static_cast<uint32_t>(size());
  std::vector<uint32_t> new_slot(order.size());
  for (uint32_t slot = 0; slot < order.size(); ++slot) new_slot[order[slot]] = slot;
  put_in_order(order);
  const auto old_slot = [&](uint32_t slot) { return order.empty() ? slot : order[slot]; };
  std::vector<uint32_t> list;
  // Ascending, without duplicates: lists read from a file may have some.
  const auto sorted = [&](uint32_t slot, uint32_t level) -> std::span<const uint32_t> {
    const auto& links = list_of(old_slot(slot), level);
    list.resize(links.size());
    for (size_t i = 0; i < list.size(); ++i) list[i] = order.empty() ? links[i] : new_slot[links[i]];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  };
  PackedLists::Counts on_ground, above;
  size_t n_upper = 0;
  for (uint32_t slot = 0; slot < n; ++slot) {
    const auto level = static_cast<uint32_t>(level_of(old_slot(slot)));
    on_ground.add(slot, sorted(slot, 0));
    for (uint32_t l = 1; l <= level; ++l) above.add(slot, sorted(slot, l));
    n_upper += level > 0 ? 1 : 0;
    if (level > highest_level) {
      highest_level = level;
      entry = slot;
    }
  }
  ground = PackedLists(on_ground);
  upper_lists = PackedLists(above);
  upper.reserve(n_upper);
  for (uint32_t slot = 0; slot < n; ++slot) {
    (coded() ? codes[slot].neighbours : rows[slot].neighbours) = ground.end();
    ground.append(slot, sorted(slot, 0));
    const auto level = static_cast<uint32_t>(level_of(old_slot(slot)));
    if (level > 0) upper.push_back({slot, upper_lists.end(), level});
    for (uint32_t l = 1; l <= level; ++l) upper_lists.append(slot, sorted(slot, l));
  }
  ground.close();
  upper_lists.close();
}

// Whether every document has a comparable code (not one that is always scored).
[[nodiscard]] inline bool all_coded(std::span<const Column* const> columns,
                                    std::span<const uint32_t> docs) noexcept {
  for (const uint32_t doc : docs) {
    const Codes* codes = columns[doc >> 16]->codes();
    if (!codes || codes->size() <= (doc & 0xffffu) || !codes->errors()[doc & 0xffffu].comparable())
      return false;
  }
  return true;
}

}  // namespace scrubjay::vector
