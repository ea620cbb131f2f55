// Graph walk: which nodes of a graph are near a query? Private to the graph's files.
//
// The search of HNSW (Malkov and Yashunin 2018, algorithms 2 and 5) over lists that nobody changes: greedily
// down the upper levels, then on the ground level always on from the nearest node whose neighbours were not
// looked at, until that is farther than all of the `expansion` nearest admitted ones. usearch, which builds
// the lists, searches them too; it locks each node, keeps a hash set of what it has seen and measures one
// distance at a time. Here a step marks bits, asks for all the bytes that it will need and measures all
// distances at once: two thirds of the time at 60,000 vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/topk.hpp"
#include "vector/graph.hpp"

namespace scrubjay::vector {

// A node with its distance as one number of the order (distance, slot).
[[nodiscard]] inline uint64_t walk_key(float distance, uint32_t slot) noexcept {
  return (uint64_t{base::sortable_float(distance)} << 32) | slot;
}

// Lists: neighbours(slot, level, visit) calls visit(slot of a neighbour) for each; prefetch(slot) asks for
// the ground list of a node. Distance: announce(slot) and, some time later, prefetch(slot) ask for what
// measure(slots, n, out) reads. Leaves in scratch.found the `expansion` nearest nodes that `admits`, nearest
// first.
template <class Lists, class Distance, class Admits>
void walk(const Lists& lists, uint32_t n_nodes, uint32_t entry, uint32_t highest_level, size_t expansion,
          const Distance& distance, Admits&& admits, GraphScratch& scratch) {
  std::vector<uint32_t>& slots = scratch.slots;
  std::vector<float>& distances = scratch.distances;
  const auto measure = [&] {
    for (const uint32_t slot : slots) distance.prefetch(slot);
    distances.resize(slots.size());
    distance.measure(slots.data(), slots.size(), distances.data());
  };
  slots.assign(1, entry);
  measure();
  uint64_t nearest = walk_key(distances[0], entry);
  for (uint32_t level = highest_level; level > 0; --level) {
    for (bool nearer = true; nearer;) {
      nearer = false;
      slots.clear();
      lists.neighbours(static_cast<uint32_t>(nearest), level, [&](uint32_t slot) {
        distance.announce(slot);
        slots.push_back(slot);
      });
      measure();
      for (size_t i = 0; i < slots.size(); ++i) {
        const uint64_t key = walk_key(distances[i], slots[i]);
        if (key >= nearest) continue;
        nearest = key;
        nearer = true;
      }
    }
  }

  scratch.seen.assign((size_t{n_nodes} + 63) / 64, 0);
  const auto first_seen = [&](uint32_t slot) {
    uint64_t& word = scratch.seen[slot / 64];
    const uint64_t bit = uint64_t{1} << (slot % 64);
    const bool first = (word & bit) == 0;
    word |= bit;
    return first;
  };
  std::vector<uint64_t>& frontier = scratch.frontier;
  std::vector<uint64_t>& found = scratch.found;
  frontier.clear();
  found.clear();
  uint64_t farthest = ~uint64_t{0};  // of those found, once there are enough
  const auto consider = [&](uint64_t key) {
    if (key >= farthest) return;
    frontier.push_back(key);
    std::push_heap(frontier.begin(), frontier.end(), std::greater<>());
    if (frontier.front() == key) lists.prefetch(static_cast<uint32_t>(key));
    if (!admits(static_cast<uint32_t>(key))) return;
    if (found.size() == expansion) {
      std::pop_heap(found.begin(), found.end());
      found.back() = key;
    } else {
      found.push_back(key);
    }
    std::push_heap(found.begin(), found.end());
    if (found.size() == expansion) farthest = found.front();
  };
  (void)first_seen(static_cast<uint32_t>(nearest));
  consider(nearest);
  while (!frontier.empty() && frontier.front() <= farthest) {
    const auto next = static_cast<uint32_t>(frontier.front());
    std::pop_heap(frontier.begin(), frontier.end(), std::greater<>());
    frontier.pop_back();
    if (!frontier.empty()) lists.prefetch(static_cast<uint32_t>(frontier.front()));
    slots.clear();
    lists.neighbours(next, 0, [&](uint32_t slot) {
      if (!first_seen(slot)) return;
      distance.announce(slot);
      slots.push_back(slot);
    });
    measure();
    for (size_t i = 0; i < slots.size(); ++i) consider(walk_key(distances[i], slots[i]));
  }
  std::sort_heap(found.begin(), found.end());
}

}  // namespace scrubjay::vector
