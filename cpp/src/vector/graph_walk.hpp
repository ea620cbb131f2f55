// Graph walk: the HNSW search for nodes near a query. Private to the graph's source files.
//
// The search of HNSW (Malkov and Yashunin 2018, algorithms 2 and 5): greedy descent on the upper levels; then
// on one level, repeatedly expand the nearest node that has not been expanded, until it is farther than all of
// the `expansion` nearest nodes. A step marks bits, prefetches all the bytes that it needs and computes all
// distances at once: two thirds of the time of one distance after another with a hash set of visited nodes, at
// 60,000 vectors. Insertions search the lists that they change in the same way (graph_insertion.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/topk.hpp"
#include "vector/graph.hpp"

namespace scrubjay::vector {

// A node with its distance as one number, in the order (distance, slot).
[[nodiscard]] inline uint64_t walk_key(float distance, uint32_t slot) noexcept {
  return (uint64_t{base::sortable_float(distance)} << 32) | slot;
}

// When a search is abandoned.
struct WalkLimits {
  size_t most_measured;  // distances
  size_t look_after;     // once this many are found, ask whether to continue
};

enum class WalkEnd : uint8_t { found, too_long, not_wanted };

// Lists: neighbours(slot, level, visit) calls visit(slot) for each neighbour; prefetch(slot) prefetches the
// ground list of a node. Distance: announce(slot) and, some time later, prefetch(slot) prefetch what
// measure(slots, n, out) reads.
template <class Lists, class Distance>
class Walk {
 public:
  Walk(const Lists& lists, const Distance& distance, GraphScratch& scratch) noexcept
      : lists_(lists), distance_(distance), scratch_(scratch) {}

  // The node that greedy descent from `entry` reaches on the levels above the lowest one.
  [[nodiscard]] uint32_t descend(uint32_t entry, uint32_t highest_level, uint32_t lowest_level = 0) {
    if (highest_level <= lowest_level) return entry;
    scratch_.slots.assign(1, entry);
    measure();
    uint64_t nearest = walk_key(scratch_.distances[0], entry);
    for (uint32_t level = highest_level; level > lowest_level; --level) {
      for (bool nearer = true; nearer;) {
        nearer = false;
        scratch_.slots.clear();
        lists_.neighbours(static_cast<uint32_t>(nearest), level, [&](uint32_t slot) {
          distance_.announce(slot);
          scratch_.slots.push_back(slot);
        });
        measure();
        for (size_t i = 0; i < scratch_.slots.size(); ++i) {
          const uint64_t key = walk_key(scratch_.distances[i], scratch_.slots[i]);
          if (key >= nearest) continue;
          nearest = key;
          nearer = true;
        }
      }
    }
    return static_cast<uint32_t>(nearest);
  }

  // Searches from `start` on one level. Leaves in scratch.found the `expansion` nearest nodes that it
  // encountered, nearest first. Calls `wanted` once to ask whether the nodes found so far (unordered) are
  // worth continuing.
  template <class Wanted>
  [[nodiscard]] WalkEnd layer(uint32_t start, uint32_t level, uint32_t n_nodes, size_t expansion,
                              const WalkLimits& limits, const Wanted& wanted) {
    std::vector<uint64_t>& frontier = scratch_.frontier;
    std::vector<uint64_t>& found = scratch_.found;
    forget_seen(n_nodes);
    frontier.clear();
    found.clear();
    uint64_t farthest = ~uint64_t{0};  // of the nodes found, once there are enough
    const auto consider = [&](uint64_t key) {
      if (key >= farthest) return;
      frontier.push_back(key);
      std::push_heap(frontier.begin(), frontier.end(), std::greater<>());
      if (frontier.front() == key) lists_.prefetch(static_cast<uint32_t>(key));
      if (found.size() == expansion) {
        std::pop_heap(found.begin(), found.end());
        found.back() = key;
      } else {
        found.push_back(key);
      }
      std::push_heap(found.begin(), found.end());
      if (found.size() == expansion) farthest = found.front();
    };
    const auto consider_all = [&] {
      measure();
      for (size_t i = 0; i < scratch_.slots.size(); ++i)
        consider(walk_key(scratch_.distances[i], scratch_.slots[i]));
    };
    scratch_.slots.assign(1, start);
    (void)first_seen(start);
    consider_all();
    size_t n_measured = 0;
    bool looked = false;
    while (!frontier.empty() && frontier.front() <= farthest) {
      const auto next = static_cast<uint32_t>(frontier.front());
      std::pop_heap(frontier.begin(), frontier.end(), std::greater<>());
      frontier.pop_back();
      if (!frontier.empty()) lists_.prefetch(static_cast<uint32_t>(frontier.front()));
      scratch_.slots.clear();
      lists_.neighbours(next, level, [&](uint32_t slot) {
        if (!first_seen(slot)) return;
        distance_.announce(slot);
        scratch_.slots.push_back(slot);
      });
      n_measured += scratch_.slots.size();
      if (n_measured > limits.most_measured) return WalkEnd::too_long;
      consider_all();
      if (!looked && found.size() >= limits.look_after) {
        looked = true;
        if (!wanted(found)) return WalkEnd::not_wanted;
      }
    }
    std::sort_heap(found.begin(), found.end());
    return WalkEnd::found;
  }

 private:
  void measure() {
    for (const uint32_t slot : scratch_.slots) distance_.prefetch(slot);
    scratch_.distances.resize(scratch_.slots.size());
    distance_.measure(scratch_.slots.data(), scratch_.slots.size(), scratch_.distances.data());
  }
  // Unmarks what the last search marked: of a large graph a small part.
  void forget_seen(uint32_t n_nodes) {
    for (const uint32_t word : scratch_.seen_words) scratch_.seen[word] = 0;
    scratch_.seen_words.clear();
    const size_t n_words = (size_t{n_nodes} + 63) / 64;
    if (scratch_.seen.size() < n_words) scratch_.seen.resize(n_words);
  }
  [[nodiscard]] bool first_seen(uint32_t slot) {
    uint64_t& word = scratch_.seen[slot / 64];
    const uint64_t bit = uint64_t{1} << (slot % 64);
    if (word == 0) scratch_.seen_words.push_back(slot / 64);
    const bool first = (word & bit) == 0;
    word |= bit;
    return first;
  }

  const Lists& lists_;
  const Distance& distance_;
  GraphScratch& scratch_;
};

}  // namespace scrubjay::vector
