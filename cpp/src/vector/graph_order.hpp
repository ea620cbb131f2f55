// Graph order: the order of a graph's nodes in memory.
//
// A search moves from a node to its neighbours, and a list stores differences of node numbers
// (packed_lists.hpp), so nodes with links to the same nodes should be adjacent. Each position goes to the
// node that has the most links from the nodes at the preceding positions (after Wei, Yu, Lu and Lin 2016,
// Gorder; without their term for common neighbours). Private to the graph's source files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace scrubjay::vector {

// Queue of nodes by the number of links to them: the greatest number first, of equal numbers the one that
// changed last.
class LinkQueue {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  LinkQueue(uint32_t n_nodes, uint32_t most_links) : nodes_(n_nodes), first_(most_links + size_t{1}, kNone) {}

  [[nodiscard]] bool taken(uint32_t node) const noexcept { return nodes_[node].n_links == kTaken; }
  // The node with the most links; kNone if no node has any.
  [[nodiscard]] uint32_t top() noexcept {
    while (most_ > 0 && first_[most_] == kNone) --most_;
    return most_ > 0 ? first_[most_] : kNone;
  }
  void take(uint32_t node) noexcept {
    unlink(node);
    nodes_[node].n_links = kTaken;
  }
  void add_link(uint32_t node) noexcept { move(node, +1); }
  void drop_link(uint32_t node) noexcept { move(node, -1); }

 private:
  static constexpr uint32_t kTaken = kNone;
  struct Node {
    uint32_t n_links = 0, before = kNone, behind = kNone;
  };

  void move(uint32_t node, int by) noexcept {
    if (taken(node)) return;
    unlink(node);
    Node& moved = nodes_[node];
    moved.n_links += static_cast<uint32_t>(by);
    if (moved.n_links == 0) return;  // in no list
    uint32_t& first = first_[moved.n_links];
    moved.before = kNone;
    moved.behind = first;
    if (first != kNone) nodes_[first].before = node;
    first = node;
    most_ = std::max(most_, moved.n_links);
  }
  void unlink(uint32_t node) noexcept {
    const Node& gone = nodes_[node];
    if (gone.n_links == 0) return;
    (gone.before == kNone ? first_[gone.n_links] : nodes_[gone.before].behind) = gone.behind;
    if (gone.behind != kNone) nodes_[gone.behind].before = gone.before;
  }

  std::vector<Node> nodes_;
  std::vector<uint32_t> first_;  // by number of links
  uint32_t most_ = 0;
};

// Returns the nodes in order. for_each_link(node, visit) calls visit(neighbour) for each of
// its distinct neighbours.
template <class ForEachLink>
[[nodiscard]] std::vector<uint32_t> order_by_links(uint32_t n_nodes, ForEachLink&& for_each_link) {
  constexpr size_t kWindow = 100;  // nodes; 20 save nine tenths as much, 200 no more
  LinkQueue queue(n_nodes, kWindow);
  std::vector<uint32_t> order;
  order.reserve(n_nodes);
  for (uint32_t next = 0; order.size() < n_nodes;) {
    uint32_t node = queue.top();
    if (node == LinkQueue::kNone) {
      while (queue.taken(next)) ++next;
      node = next;
    }
    queue.take(node);
    // A node leaves the window before the next one enters: no node has links from more nodes than fit into
    // the window.
    if (order.size() >= kWindow) {
      for_each_link(order[order.size() - kWindow], [&](uint32_t other) { queue.drop_link(other); });
    }
    order.push_back(node);
    for_each_link(node, [&](uint32_t other) { queue.add_link(other); });
  }
  return order;
}

}  // namespace scrubjay::vector
