// Each node gets one position, and linked nodes are adjacent.
#include "vector/graph_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using scrubjay::vector::order_by_links;
using Lists = std::vector<std::vector<uint32_t>>;

std::vector<uint32_t> order_of(const Lists& lists) {
  return order_by_links(static_cast<uint32_t>(lists.size()), [&](uint32_t node, auto&& visit) {
    for (const uint32_t other : lists[node]) visit(other);
  });
}

// The same, slow and obvious: examines all nodes each time.
std::vector<uint32_t> most_links(const Lists& lists, const std::vector<uint32_t>& placed, size_t window) {
  std::vector<uint32_t> n_links(lists.size(), 0);
  for (size_t i = placed.size() - std::min(window, placed.size()); i < placed.size(); ++i)
    for (const uint32_t other : lists[placed[i]]) ++n_links[other];
  for (const uint32_t node : placed) n_links[node] = 0;
  return n_links;
}

}  // namespace

TEST(graph_order_gives_each_place_to_one_most_linked_from_the_places_before) {
  std::mt19937 random(3);
  for (const uint32_t n : {0u, 1u, 2u, 50u, 400u}) {
    Lists lists(n);
    for (uint32_t node = 0; node < n; ++node) {
      for (uint32_t other = 0; other < n; ++other) {
        if (random() % n < 6) lists[node].push_back(other);  // sometimes including itself
      }
      if (random() % 9 == 0) lists[node].clear();
    }
    const std::vector<uint32_t> order = order_of(lists);
    CHECK_EQ(order.size(), size_t{n});
    std::vector<uint32_t> placed;
    for (const uint32_t node : order) {
      CHECK(std::find(placed.begin(), placed.end(), node) == placed.end());
      const std::vector<uint32_t> n_links = most_links(lists, placed, 100);
      CHECK_EQ(n_links[node], *std::max_element(n_links.begin(), n_links.end()));
      placed.push_back(node);
    }
  }
}

TEST(graph_order_handles_hubs_that_every_node_links_to) {
  Lists lists(300);
  for (uint32_t node = 0; node < lists.size(); ++node)
    for (uint32_t other = 0; other < lists.size(); ++other)
      if (other != node) lists[node].push_back(other);
  std::vector<uint32_t> order = order_of(lists);
  std::sort(order.begin(), order.end());
  for (uint32_t node = 0; node < lists.size(); ++node) CHECK_EQ(order[node], node);
}

TEST(graph_order_finds_groups_that_were_dealt_out) {
  constexpr uint32_t kNodes = 2000, kGroups = 20;
  std::mt19937 random(5);
  Lists lists(kNodes);
  for (uint32_t node = 0; node < kNodes; ++node)
    for (int i = 0; i < 8; ++i) lists[node].push_back((node + kGroups * (1 + random() % 99)) % kNodes);
  for (auto& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  const std::vector<uint32_t> order = order_of(lists);
  size_t n_borders = 0;
  for (size_t i = 1; i < order.size(); ++i) n_borders += order[i] % kGroups != order[i - 1] % kGroups ? 1 : 0;
  CHECK(n_borders <= 2 * kGroups);
}
