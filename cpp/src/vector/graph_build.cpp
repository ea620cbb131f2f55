// Building and extending graphs: vectors are inserted one after another; then the lists are packed.

#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/epoch.hpp"
#include "vector/graph.hpp"
#include "vector/graph_distance.hpp"
#include "vector/graph_insertion.hpp"
#include "vector/graph_lists.hpp"
#include "vector/graph_order.hpp"
#include "vector/graph_state.hpp"

namespace scrubjay::vector {
namespace {

// The documents from the first that is not covered, as numbered by the graph: column << 16 | document.
[[nodiscard]] std::vector<uint32_t> documents_of(std::span<const Column* const> columns,
                                                 std::span<const uint32_t> n_covered,
                                                 std::span<const uint32_t> n_docs,
                                                 const std::function<bool(uint32_t)>& admits) {
  std::vector<uint32_t> docs;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c]) continue;
    for (uint32_t offset = c < n_covered.size() ? n_covered[c] : 0; offset < n_docs[c]; ++offset) {
      const uint32_t doc = static_cast<uint32_t>(c << 16) | offset;
      if (columns[c]->has(offset) && (!admits || admits(doc))) docs.push_back(doc);
    }
  }
  return docs;
}

enum class Inserted : uint8_t { all, cancelled, not_coded };

// Inserts the documents, whose vectors are registered in the state behind the nodes of the lists. `guard` is
// renewed occasionally: a build takes long, and retired memory should be freed meanwhile.
[[nodiscard]] Inserted insert(const Graph::State& state, GraphLists& lists,
                              std::span<const Column* const> columns, std::span<const uint32_t> docs,
                              std::optional<base::EpochGuard>& guard,
                              const std::function<bool()>& cancelled) {
  PreparedQuery inserted;
  GraphScratch scratch;
  std::vector<float> vector(state.options.dim);
  const auto insert_all = [&](const auto& between, const auto& from_inserted) {
    const uint32_t expansion = state.build.expansion_build;
    Insertion insertion(lists, between, expansion == 0 ? expansion_for(state.size()) : expansion, scratch);
    for (size_t i = 0; i < docs.size(); ++i) {
      if (i % 256 == 0) {
        if (cancelled()) return Inserted::cancelled;
        guard.emplace();
      }
      columns[docs[i] >> 16]->read(docs[i] & 0xffffu, vector);
      prepare_query(state.options, vector, inserted);
      if (state.coded() &&
          !prepare_code_query(state.options, inserted.elements, inserted.square, inserted.code))
        return Inserted::not_coded;  // its length is at the limit of what codes can compare
      insertion.add(from_inserted());
    }
    return Inserted::all;
  };
  if (state.coded())
    return insert_all(CodesBetween(state.codes, state.options),
                      [&] { return CodesFromQuery(state.codes, state.options, inserted, scratch); });
  return insert_all(RowsBetween(state.rows, state.options),
                    [&] { return RowsFromQuery(state.rows, state.options, inserted); });
}

void take_lists_of(const GraphLists& lists, Graph::State& state) {
  const auto order = order_by_links(lists.size(), [&](uint32_t slot, auto&& visit) {
    for (const uint32_t other : lists.list(slot, 0)) visit(other);
  });
  state.take_lists([&](uint32_t slot) { return lists.level_of(slot); },
                   [&](uint32_t slot, uint32_t level) { return lists.list(slot, level); }, order);
}

// The lists of a finished graph, with room for n nodes.
[[nodiscard]] GraphLists lists_of(const Graph::State& state, size_t n_nodes) {
  GraphLists lists(state.build.connectivity);
  lists.reserve(n_nodes);
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < state.size(); ++slot) {
    const uint32_t highest = state.level_of(slot);
    lists.add(highest);
    for (uint32_t level = 0; level <= highest; ++level) {
      slots.clear();
      state.for_each_neighbour(slot, level, [&](uint32_t other) { slots.push_back(other); });
      lists.assign(slot, level, slots);
    }
  }
  return lists;
}

template <class T>
void reorder(std::vector<T>& values, std::span<const uint32_t> order) {
  if (values.empty()) return;
  std::vector<T> ordered;
  ordered.reserve(order.size());
  for (const uint32_t i : order) ordered.push_back(values[i]);
  values = std::move(ordered);
}

}  // namespace

void CodeNodes::add(const Codes& codes, Metric metric, uint32_t doc) {
  const uint32_t offset = doc & 0xffffu, block = doc / base::RowBlocks::kRowsPerBlock;
  nodes.push_back({codes.factors()[offset], doc});
  if (metric == Metric::l2) biases.push_back(codes.biases()[offset]);
  if (block >= blocks.size()) blocks.resize(block + 1);
  blocks[block] =
      reinterpret_cast<const uint8_t*>(codes.rows().block(offset / base::RowBlocks::kRowsPerBlock));
  code_bytes = codes.rows().row_bytes();
}

void Graph::State::put_in_order(std::span<const uint32_t> order) {
  if (order.empty()) return;
  reorder(rows, order);
  reorder(codes.nodes, order);
  reorder(codes.biases, order);
}

void Graph::State::note(std::span<const Column* const> columns, std::span<const uint32_t> docs,
                        bool by_codes) {
  if (docs.empty()) return;
  options = columns[docs.front() >> 16]->options();
  if (by_codes) {
    codes.reserve(codes.size() + docs.size(), options.metric);
  } else {
    rows.reserve(rows.size() + docs.size());
  }
  for (const uint32_t doc : docs) {
    const Column& column = *columns[doc >> 16];
    const uint32_t offset = doc & 0xffffu;
    if (by_codes) {
      codes.add(*column.codes(), options.metric, doc);
    } else {
      rows.push_back({column.rows().row(offset), column.scales()[offset], doc});
    }
  }
}

std::unique_ptr<Graph> Graph::build(std::span<const Column* const> columns, std::span<const uint32_t> n_docs,
                                    const GraphOptions& options, const std::function<bool()>& cancelled,
                                    const std::function<bool(uint32_t)>& admits) {
  std::optional<base::EpochGuard> guard(std::in_place);
  const std::vector<uint32_t> docs = documents_of(columns, {}, n_docs, admits);
  bool by_codes = !docs.empty() && all_coded(columns, docs);
  for (;;) {
    auto state = std::make_unique<State>();
    state->build = options;
    state->n_covered.assign(n_docs.begin(), n_docs.end());
    state->note(columns, docs, by_codes);
    GraphLists lists(options.connectivity);
    lists.reserve(docs.size());
    switch (insert(*state, lists, columns, docs, guard, cancelled)) {
      case Inserted::all:
        take_lists_of(lists, *state);
        return std::unique_ptr<Graph>(new Graph(std::move(state)));
      case Inserted::cancelled:
        return nullptr;
      case Inserted::not_coded:
        by_codes = false;
    }
  }
}

std::unique_ptr<Graph> Graph::extend(std::span<const Column* const> columns, std::span<const uint32_t> n_docs,
                                     const std::function<bool()>& cancelled,
                                     const std::function<bool(uint32_t)>& admits) const {
  if (size() == 0) return nullptr;
  std::optional<base::EpochGuard> guard(std::in_place);
  const std::vector<uint32_t> docs = documents_of(columns, state_->n_covered, n_docs, admits);
  if (coded() && !all_coded(columns, docs)) return nullptr;
  auto state = std::make_unique<State>();
  state->build = state_->build;
  state->n_covered.assign(n_docs.begin(), n_docs.end());
  const size_t n_nodes = size() + docs.size();
  if (coded()) {
    state->codes.reserve(n_nodes, state_->options.metric);
    state->codes = state_->codes;
  } else {
    state->rows.reserve(n_nodes);
    state->rows = state_->rows;
  }
  state->options = state_->options;
  state->note(columns, docs, coded());
  GraphLists lists = lists_of(*state_, n_nodes);
  if (insert(*state, lists, columns, docs, guard, cancelled) != Inserted::all) return nullptr;
  take_lists_of(lists, *state);
  return std::unique_ptr<Graph>(new Graph(std::move(state)));
}

}  // namespace scrubjay::vector
