// Graph lists: the neighbour lists of a graph that is being built. Each node has room for the longest list on
// each of its levels; a finished graph packs them (packed_lists.hpp). Private to the graph's source files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/growing.hpp"
#include "vector/graph_links.hpp"

namespace scrubjay::vector {

class GraphLists {
 public:
  // `connectivity`: M of the paper, the longest list above the ground level, where lists may be twice as long.
  explicit GraphLists(uint32_t connectivity) noexcept : connectivity_(connectivity) {}

  [[nodiscard]] uint32_t size() const noexcept { return static_cast<uint32_t>(levels_.size()); }
  [[nodiscard]] uint32_t connectivity() const noexcept { return connectivity_; }
  [[nodiscard]] uint32_t most(uint32_t level) const noexcept { return most_links(connectivity_, level); }
  // The node where searches begin: the first on the highest level. There is one unless size() is zero.
  [[nodiscard]] uint32_t entry() const noexcept { return entry_; }
  [[nodiscard]] uint32_t highest_level() const noexcept { return size() == 0 ? 0 : levels_[entry_]; }
  [[nodiscard]] uint32_t level_of(uint32_t slot) const noexcept { return levels_[slot]; }

  // Makes room for n nodes in all. May throw std::bad_alloc, as add() may.
  void reserve(size_t n) {
    levels_.reserve(n);
    upper_at_.reserve(n);
    ground_.reserve(n * room(0));
  }
  // Adds a node with empty lists on the levels up to `level`. Returns its slot.
  uint32_t add(uint32_t level) {
    const uint32_t slot = size();
    ground_.resize(ground_.size() + room(0));
    upper_at_.push_back(static_cast<uint32_t>(upper_.size()));
    upper_.resize(upper_.size() + level * room(1));
    levels_.push_back(static_cast<uint8_t>(level));
    if (slot == 0 || level > levels_[entry_]) entry_ = slot;
    return slot;
  }

  [[nodiscard]] std::span<const uint32_t> list(uint32_t slot, uint32_t level) const noexcept {
    const uint32_t* stored = place(slot, level);
    return {stored + 1, stored[0]};
  }
  // At most most(level) slots.
  void assign(uint32_t slot, uint32_t level, std::span<const uint32_t> slots) noexcept {
    uint32_t* stored = to_fill(place(slot, level));
    stored[0] = static_cast<uint32_t>(slots.size());
    std::copy(slots.begin(), slots.end(), stored + 1);
  }
  // Returns false if the list is full.
  [[nodiscard]] bool append(uint32_t slot, uint32_t level, uint32_t other) noexcept {
    uint32_t* stored = to_fill(place(slot, level));
    if (stored[0] == most(level)) return false;
    stored[++stored[0]] = other;
    return true;
  }

  // For Walk.
  template <class Visit>
  void neighbours(uint32_t slot, uint32_t level, Visit&& visit) const {
    for (const uint32_t other : list(slot, level)) visit(other);
  }
  void prefetch(uint32_t slot) const noexcept {
    const char* first = reinterpret_cast<const char*>(place(slot, 0));
    for (size_t byte = 0; byte < room(0) * sizeof(uint32_t); byte += base::kCacheLineBytes)
      __builtin_prefetch(first + byte);
  }

 private:
  // A list is its length, then its slots.
  [[nodiscard]] size_t room(uint32_t level) const noexcept { return size_t{1} + most(level); }
  [[nodiscard]] const uint32_t* place(uint32_t slot, uint32_t level) const noexcept {
    if (level == 0) return ground_.data() + slot * room(0);
    return upper_.data() + upper_at_[slot] + (level - 1) * room(1);
  }
  [[nodiscard]] static uint32_t* to_fill(const uint32_t* place) noexcept {
    return const_cast<uint32_t*>(place);
  }

  uint32_t connectivity_;
  uint32_t entry_ = 0;
  std::vector<uint8_t> levels_;
  std::vector<uint32_t> ground_, upper_;
  std::vector<uint32_t> upper_at_;  // by slot: its lists above the ground, level by level
};

}  // namespace scrubjay::vector
