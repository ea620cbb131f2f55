// Stored graphs: their lists are extracted without deleted documents, and restored over columns after
// validation.

#include "vector/graph_links.hpp"

#include <algorithm>

#include "base/epoch.hpp"
#include "vector/graph.hpp"
#include "vector/graph_state.hpp"

namespace scrubjay::vector {
namespace {

// One in M vectors of a level is also on the next level.
constexpr uint8_t kMaxLevel = 32;
constexpr uint32_t kLeastConnectivity = 4, kMostConnectivity = 64;
static_assert(2 * kMostConnectivity <= PackedLists::kLongest);

// Whether each covered vector is in the graph exactly once, and nothing else is.
[[nodiscard]] bool holds_what_is_covered(std::span<const Column* const> columns, const GraphLinks& links) {
  if (links.n_covered.size() != columns.size()) return false;
  size_t n_vectors = 0;
  std::vector<std::vector<bool>> found(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    if (links.n_covered[c] > 0x10000u) return false;
    found[c].resize(links.n_covered[c]);
    for (uint32_t doc = 0; columns[c] && doc < links.n_covered[c]; ++doc) n_vectors += columns[c]->has(doc);
  }
  if (n_vectors != links.docs.size()) return false;
  for (const uint32_t doc : links.docs) {
    const uint32_t c = doc >> 16, offset = doc & 0xffffu;
    if (c >= columns.size() || !columns[c] || offset >= links.n_covered[c] || !columns[c]->has(offset) ||
        found[c][offset])
      return false;
    found[c][offset] = true;
  }
  return true;
}

// Whether every list has a valid size and links only to other nodes on its level.
[[nodiscard]] bool well_linked(const GraphLinks& links) {
  const size_t n = links.docs.size();
  if (n == 0 || links.levels.size() != n || links.entry >= n) return false;
  const uint8_t highest = *std::max_element(links.levels.begin(), links.levels.end());
  if (highest > kMaxLevel || links.levels[links.entry] != highest) return false;
  size_t list = 0, link = 0;
  for (uint32_t slot = 0; slot < n; ++slot) {
    for (uint32_t level = 0; level <= links.levels[slot]; ++level, ++list) {
      if (list >= links.list_sizes.size() || links.list_sizes[list] > most_links(links.connectivity, level) ||
          links.list_sizes[list] > links.links.size() - link)
        return false;
      for (const size_t end = link + links.list_sizes[list]; link < end; ++link) {
        const uint32_t other = links.links[link];
        if (other >= n || other == slot || links.levels[other] < level) return false;
      }
    }
  }
  return list == links.list_sizes.size() && link == links.links.size();
}

}  // namespace

GraphLinks Graph::links(const std::function<uint32_t(uint32_t)>& renumbered) const {
  const State& state = *state_;
  const auto n = static_cast<uint32_t>(size());
  GraphLinks out;
  out.connectivity = state.build.connectivity;
  std::vector<uint32_t> slots(n, GraphLinks::kGone);  // the new slots
  for (uint32_t slot = 0; slot < n; ++slot) {
    const uint32_t doc = renumbered(state.doc_of(slot));
    if (doc == GraphLinks::kGone) continue;
    slots[slot] = static_cast<uint32_t>(out.docs.size());
    out.docs.push_back(doc);
    out.levels.push_back(static_cast<uint8_t>(state.level_of(slot)));
  }
  if (out.docs.empty()) return out;
  // The first on the highest level.
  out.entry =
      static_cast<uint32_t>(std::max_element(out.levels.begin(), out.levels.end()) - out.levels.begin());
  std::vector<uint32_t> list, neighbours;
  for (uint32_t slot = 0; slot < n; ++slot) {
    if (slots[slot] == GraphLinks::kGone) continue;
    for (uint32_t level = 0, highest = state.level_of(slot); level <= highest; ++level) {
      list.clear();
      neighbours.clear();
      state.for_each_neighbour(slot, level, [&](uint32_t other) {
        neighbours.push_back(other);
        if (slots[other] != GraphLinks::kGone) list.push_back(slots[other]);
      });
      // A deleted neighbour is replaced by the nearest of its own neighbours that is not linked yet (nearest
      // by number, since near nodes have near numbers, graph_order.hpp), so that nodes reached through it
      // remain reachable.
      for (size_t i = 0; list.size() < neighbours.size() && i < neighbours.size(); ++i) {
        if (slots[neighbours[i]] != GraphLinks::kGone) continue;
        uint32_t nearest = GraphLinks::kGone, nearest_by = GraphLinks::kGone;
        state.for_each_neighbour(neighbours[i], level, [&](uint32_t beyond) {
          const uint32_t by = beyond > slot ? beyond - slot : slot - beyond;
          if (by >= nearest_by || slots[beyond] == GraphLinks::kGone || beyond == slot ||
              std::find(list.begin(), list.end(), slots[beyond]) != list.end())
            return;
          nearest = slots[beyond];
          nearest_by = by;
        });
        if (nearest != GraphLinks::kGone) list.push_back(nearest);
      }
      out.list_sizes.push_back(static_cast<uint8_t>(list.size()));
      out.links.insert(out.links.end(), list.begin(), list.end());
    }
  }
  return out;
}

std::unique_ptr<Graph> Graph::restore(std::span<const Column* const> columns, const GraphLinks& links,
                                      const GraphOptions& options) {
  const base::EpochGuard guard;
  if (links.connectivity < kLeastConnectivity || links.connectivity > kMostConnectivity ||
      !well_linked(links) || !holds_what_is_covered(columns, links))
    return nullptr;
  auto state = std::make_unique<State>();
  state->build = options;
  state->build.connectivity = links.connectivity;  // extensions use the original parameters
  state->n_covered = links.n_covered;
  state->note(columns, links.docs, all_coded(columns, links.docs));
  std::vector<size_t> first_list, first_link;  // by slot, and by list
  for (size_t slot = 0, n_lists = 0; slot < links.levels.size(); ++slot) {
    first_list.push_back(n_lists);
    n_lists += links.levels[slot] + size_t{1};
  }
  for (size_t list = 0, n_links = 0; list < links.list_sizes.size(); ++list) {
    first_link.push_back(n_links);
    n_links += links.list_sizes[list];
  }
  state->take_lists([&](uint32_t slot) { return links.levels[slot]; },
                    [&](uint32_t slot, uint32_t level) {
                      const size_t list = first_list[slot] + level;
                      return std::span(links.links).subspan(first_link[list], links.list_sizes[list]);
                    });
  return std::unique_ptr<Graph>(new Graph(std::move(state)));
}

}  // namespace scrubjay::vector
