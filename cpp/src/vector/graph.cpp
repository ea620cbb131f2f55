#include "vector/graph.hpp"

#include <algorithm>
#include <new>

#include "base/growing.hpp"
#include "base/huge_pages.hpp"
#include "vector/graph_distance.hpp"
#include "vector/graph_state.hpp"
#include "vector/graph_walk.hpp"

namespace scrubjay::vector {
namespace {

template <class Nodes>
struct Lists {
  const Graph::State& state;
  const Nodes& nodes;

  template <class Visit>
  void neighbours(uint32_t slot, uint32_t level, Visit&& visit) const {
    if (level == 0) return state.ground.for_each(nodes[slot].neighbours, slot, visit);
    state.for_each_neighbour(slot, level, visit);
  }
  void prefetch(uint32_t slot) const {
    const uint8_t* list = state.ground.at(nodes[slot].neighbours);
    for (size_t byte = 0; byte < 2 * base::kCacheLineBytes; byte += base::kCacheLineBytes)
      __builtin_prefetch(list + byte);
  }
};

// The number of nodes after which the visible share near the query is estimated.
constexpr size_t kLookedAbout = 64;

}  // namespace

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::~Graph() = default;

size_t Graph::State::memory_bytes() const noexcept {
  return sizeof(State) + rows.capacity() * sizeof(RowNode) + codes.memory_bytes() +
         upper.capacity() * sizeof(UpperNode) + n_covered.capacity() * sizeof(uint32_t) +
         ground.memory_bytes() + upper_lists.memory_bytes();
}

bool Graph::coded() const noexcept { return state_->coded(); }

GraphAnswer Graph::search(const PreparedQuery& query, const GraphAsk& ask,
                          const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                          std::vector<GraphHit>& out) const {
  using End = GraphAnswer::End;
  if (size() == 0) return {End::found, ask.expansion + 1};
  try {
    if (coded())
      return search_by(state_->codes, CodesFromQuery(state_->codes, state_->options, query, scratch), ask,
                       visible, scratch, out);
    return search_by(state_->rows, RowsFromQuery(state_->rows, state_->options, query), ask, visible, scratch,
                     out);
  } catch (const std::bad_alloc&) {
    return {End::no_memory};
  }
}

template <class Nodes, class Distance>
GraphAnswer Graph::search_by(const Nodes& nodes, const Distance& distance, const GraphAsk& ask,
                             const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                             std::vector<GraphHit>& out) const {
  using End = GraphAnswer::End;
  const Lists<Nodes> lists{*state_, nodes};
  Walk<Lists<Nodes>, Distance> walk(lists, distance, scratch);
  const auto n_nodes = static_cast<uint32_t>(size());
  const float distance_shift = distance.shift();
  const auto shown = [&](uint32_t slot) { return visible(nodes[slot].doc); };
  WalkLimits limits{ask.most_measured, ~size_t{0}};
  if (ask.least_visible > 0.0) limits.look_after = std::min(kLookedAbout, ask.expansion);
  const uint32_t start = walk.descend(state_->entry, state_->highest_level);
  const WalkEnd end = walk.layer(start, 0, n_nodes, ask.expansion, limits, [&](const auto& nodes) {
    const auto n = std::count_if(nodes.begin(), nodes.end(),
                                 [&](uint64_t key) { return shown(static_cast<uint32_t>(key)); });
    return static_cast<double>(n) >= ask.least_visible * static_cast<double>(nodes.size());
  });
  if (end == WalkEnd::too_long) return {End::too_long};
  if (end == WalkEnd::not_wanted) return {End::hidden};
  GraphAnswer answer{End::found, ask.expansion + 1};
  for (size_t i = 0; i < scratch.found.size(); ++i) {
    const auto slot = static_cast<uint32_t>(scratch.found[i]);
    if (!shown(slot)) continue;
    const float distance = base::unsortable_float(static_cast<uint32_t>(scratch.found[i] >> 32));
    out.push_back({nodes[slot].doc, distance_shift - distance});
    if (out.size() == ask.wanted) answer.rank = i + 1;
  }
  return answer;
}

uint32_t Graph::n_covered(size_t column) const noexcept {
  return column < state_->n_covered.size() ? state_->n_covered[column] : 0;
}
size_t Graph::size() const noexcept { return state_->size(); }
size_t Graph::memory_bytes() const noexcept { return state_->memory_bytes(); }

size_t Graph::use_huge_pages(std::span<const Column* const> columns) const noexcept {
  try {
    base::HugePages pages;
    pages.add(state_->rows.data(), state_->rows.size() * sizeof(RowNode));
    pages.add(state_->codes.nodes.data(), state_->codes.size() * sizeof(CodeNode));
    pages.add(state_->ground.bytes().data(), state_->ground.bytes().size());
    for (const CodeNode& node : state_->codes.nodes)
      pages.add(state_->codes.code(node), state_->codes.code_bytes);
    for (uint32_t slot = 0; slot < size(); ++slot) {
      const uint32_t doc = state_->doc_of(slot);
      pages.add(columns[doc >> 16]->rows().row(doc & 0xffffu), state_->options.row_bytes());
    }
    return pages.use();
  } catch (const std::bad_alloc&) {
    return 0;  // best effort
  }
}

}  // namespace scrubjay::vector
