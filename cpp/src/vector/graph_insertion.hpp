// Graph insertion: adds vectors to the lists of a graph, one after another. Private to the graph's source
// files.
//
// Malkov and Yashunin 2018, algorithms 1 and 4: a vector is searched for on each of its levels, from the
// highest one down, and linked to some of the nearest nodes found, which link back. Of the nearest, a node is
// left out if it is nearer to one that was chosen than to the vector: links lead into all directions. A list
// that overflows is chosen anew by the same rule. The level of a node follows from its number, so graphs that
// are built in the same steps are equal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/topk.hpp"
#include "vector/graph_distance.hpp"
#include "vector/graph_lists.hpp"
#include "vector/graph_walk.hpp"

namespace scrubjay::vector {

// One in `connectivity` nodes of a level is also on the next level.
[[nodiscard]] inline uint32_t level_of_number(uint32_t number, uint32_t connectivity) noexcept {
  // splitmix64 (Steele, Lea and Flood 2014), of the number's place in the sequence.
  uint64_t mixed = (number + uint64_t{1}) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  uint32_t level = 0;
  for (uint64_t below = ~uint64_t{0} / connectivity; mixed < below; below /= connectivity) ++level;
  return level;
}

// The expansion with which a graph of that many vectors is built. A million vectors need better lists: with 200
// instead of 128, searches take .77 of the time at the same recall, those of 100,000 vectors 1.1 times.
[[nodiscard]] constexpr uint32_t expansion_for(size_t n_vectors) noexcept {
  constexpr size_t kLarge = size_t{1} << 18;
  return n_vectors < kLarge ? 128 : 200;
}

// Between: the distances between nodes (graph_distance.hpp).
template <class Between>
class Insertion {
 public:
  Insertion(GraphLists& lists, const Between& between, uint32_t expansion, GraphScratch& scratch) noexcept
      : lists_(lists), between_(between), expansion_(expansion), scratch_(scratch) {}

  // Adds the next node. `distance`: from its vector to nodes, as for Walk.
  template <class FromQuery>
  void add(const FromQuery& distance) {
    const uint32_t number = lists_.size();
    const uint32_t level = level_of_number(number, lists_.connectivity());
    if (number == 0) {
      lists_.add(level);
      return;
    }
    const uint32_t highest = lists_.highest_level(), entry = lists_.entry();
    lists_.add(level);
    Walk<GraphLists, FromQuery> walk(lists_, distance, scratch_);
    uint32_t start = walk.descend(entry, highest, level);
    for (uint32_t left = std::min(level, highest) + 1; left-- > 0;) {
      const WalkLimits without_limits{~size_t{0}, ~size_t{0}};
      static_cast<void>(
          walk.layer(start, left, number, expansion_, without_limits, [](const auto&) { return true; }));
      nearest_.clear();
      for (const uint64_t key : scratch_.found)
        nearest_.push_back({base::unsortable_float(static_cast<uint32_t>(key >> 32)) - distance.shift(),
                            static_cast<uint32_t>(key)});
      choose(nearest_, lists_.connectivity());
      start = nearest_.front().slot;
      assign(number, left, nearest_);
      for (const Near& near : nearest_) link_back(near, left, number);
    }
  }

 private:
  struct Near {
    float distance;
    uint32_t slot;
  };

  void assign(uint32_t slot, uint32_t level, std::span<const Near> chosen) {
    slots_.clear();
    for (const Near& near : chosen) slots_.push_back(near.slot);
    lists_.assign(slot, level, slots_);
  }

  // Leaves the chosen of these nodes, which are in ascending order of their distance.
  void choose(std::vector<Near>& nodes, size_t most) const {
    if (nodes.size() < most) return;
    size_t n_chosen = 0;
    for (size_t i = 0; i < nodes.size() && n_chosen < most; ++i) {
      const auto nearer_to = [&](const Near& chosen) {
        return between_(nodes[i].slot, chosen.slot) < nodes[i].distance;
      };
      const auto chosen = std::span(nodes).first(n_chosen);
      if (std::none_of(chosen.begin(), chosen.end(), nearer_to)) nodes[n_chosen++] = nodes[i];
    }
    nodes.resize(n_chosen);
  }

  // Adds the new node to the list of a node near it.
  void link_back(const Near& near, uint32_t level, uint32_t added) {
    if (lists_.append(near.slot, level, added)) return;
    const std::span<const uint32_t> list = lists_.list(near.slot, level);
    distances_.resize(list.size());
    between_.measure(near.slot, list.data(), list.size(), distances_.data());
    linked_.assign(1, {near.distance, added});
    for (size_t i = 0; i < list.size(); ++i) linked_.push_back({distances_[i], list[i]});
    std::sort(linked_.begin(), linked_.end(), [](const Near& a, const Near& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.slot < b.slot;
    });
    choose(linked_, lists_.most(level));
    assign(near.slot, level, linked_);
  }

  GraphLists& lists_;
  const Between& between_;
  const uint32_t expansion_;
  GraphScratch& scratch_;
  std::vector<Near> nearest_, linked_;
  std::vector<uint32_t> slots_;
  std::vector<float> distances_;
};

}  // namespace scrubjay::vector
