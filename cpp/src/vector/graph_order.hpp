// Graph order: the order in memory of a graph's nodes.
//
// A search goes from a node to those that it links to, and a list keeps distances between the numbers of
// nodes (packed_lists.hpp): nodes that are linked to the same ones should lie side by side. So each place
// goes to the node to which most links lead from the nodes at the places just before it (after Wei, Yu, Lu
// and Lin 2016, Gorder; here without what two nodes have in common). Private to the graph's files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace scrubjay::vector {

// Nodes that are waited for, by how many links lead to them: the most first, of as many the last that
// changed.
class LinkQueue {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  LinkQueue(uint32_t n_nodes, uint32_t most_links) : nodes_(n_nodes), first_(most_links + size_t{1}, kNone) {}

  [[nodiscard]] bool taken(uint32_t node) const noexcept { return nodes_[node].n_links == kTaken; }
  // The node to which most links lead; kNone if none does.
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
  std::vector<uint32_t> first_;  // by links
  uint32_t most_ = 0;
};

// The nodes in their order. for_each_link(node, visit) calls visit(node that it is linked to) for each, which
// differ.
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
    // One leaves the window before the next comes in: no node is ever linked from more than fit in it.
    if (order.size() >= kWindow) {
      for_each_link(order[order.size() - kWindow], [&](uint32_t other) { queue.drop_link(other); });
    }
    order.push_back(node);
    for_each_link(node, [&](uint32_t other) { queue.add_link(other); });
  }
  return order;
}

}  // namespace scrubjay::vector
