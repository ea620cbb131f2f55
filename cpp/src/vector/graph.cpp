#include "vector/graph.hpp"

#include <cstring>
#include <new>
#include <optional>
#include <type_traits>

#include "base/epoch.hpp"
#include "vector/graph_distance.hpp"
#include "vector/graph_state.hpp"
#include "vector/graph_walk.hpp"

namespace scrubjay::vector {
namespace {

// Documents as the graph numbers them, column << 16 | document, from the first that is not covered.
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

// The lists of a finished index. A node of usearch lies in one piece: its number and level first, then the
// list of the ground level, a count and so many slots. It is found beside the vector's place, which was
// looked at already, not by usearch's table.
template <class Node>
struct Lists {
  const Index& index;
  const std::vector<Node>& nodes;

  template <class Visit>
  void neighbours(uint32_t slot, uint32_t level, Visit&& visit) const {
    if (level != 0) {
      const auto list = index.neighbors(slot, level);
      for (size_t i = 0, n = list.size(); i < n; ++i) visit(static_cast<uint32_t>(list[i].slot));
      return;
    }
    const char* list = nodes[slot].list + sizeof(Index::vector_key_t) + sizeof(int16_t);
    const auto number = [&](size_t i) {
      uint32_t value;
      std::memcpy(&value, list + i * sizeof(value), sizeof(value));
      return value;
    };
    for (uint32_t i = 1, n = number(0); i <= n; ++i) visit(number(i));
  }
  void prefetch(uint32_t slot) const {
    for (size_t byte = 0; byte < 3 * base::kCacheLineBytes; byte += base::kCacheLineBytes)
      __builtin_prefetch(nodes[slot].list + byte);
  }
};
static_assert(std::is_same_v<Index::compressed_slot_t, uint32_t>);

// So many of those found first tell what share of those about the query is visible.
constexpr size_t kLookedAbout = 64;

enum class Inserted : uint8_t { all, cancelled, not_coded };

// Inserts the documents, whose vectors are noted from slot `first` on. `guard` is renewed now and then: a
// build is long, let what was retired meanwhile be freed.
[[nodiscard]] Inserted insert(Graph::State& state, std::span<const Column* const> columns,
                              std::span<const uint32_t> docs, std::optional<base::EpochGuard>& guard,
                              const std::function<bool()>& cancelled) {
  PreparedQuery inserted;
  std::vector<float> vector(state.options.dim);
  unum::usearch::index_update_config_t update;
  update.expansion = state.build.expansion_build;
  const auto insert_all = [&](const auto& distance, const auto& prefetch) {
    for (size_t i = 0; i < docs.size(); ++i) {
      if (i % 256 == 0) {
        if (cancelled()) return Inserted::cancelled;
        guard.emplace();
      }
      columns[docs[i] >> 16]->read(docs[i] & 0xffffu, vector);
      prepare_query(state.options, vector, inserted);
      if (state.coded() &&
          !prepare_code_query(state.options, inserted.elements, inserted.square, inserted.code))
        return Inserted::not_coded;  // its length is at the very border of what codes can be compared for
      auto added =
          state.index.add(docs[i], inserted, distance, update, unum::usearch::dummy_callback_t{}, prefetch);
      if (added.error) {
        (void)added.error.release();
        throw std::bad_alloc();
      }
    }
    return Inserted::all;
  };
  if (state.coded()) {
    return insert_all(CodeDistance(state.codes, state.options),
                      Prefetch<CodeNode>{state.codes, code_bytes(state.options.dim)});
  }
  return insert_all(RowDistance(state.rows, state.options),
                    Prefetch<RowNode>{state.rows, state.options.row_bytes()});
}

}  // namespace

void Graph::State::make_index() {
  auto made = Index::make({build.connectivity, build.connectivity * 2});
  if (made.error) {
    (void)made.error.release();
    throw std::bad_alloc();
  }
  index = std::move(made.index);
}

void Graph::State::reserve(size_t n_nodes) {
  if (!index.try_reserve(unum::usearch::index_limits_t(std::max<size_t>(n_nodes, 1), 1)))
    throw std::bad_alloc();
}

void Graph::State::note(std::span<const Column* const> columns, std::span<const uint32_t> docs,
                        bool by_codes) {
  rows.reserve(by_codes ? 0 : rows.size() + docs.size());
  codes.reserve(by_codes ? codes.size() + docs.size() : 0);
  for (const uint32_t doc : docs) {
    const Column& column = *columns[doc >> 16];
    const uint32_t offset = doc & 0xffffu;
    options = column.options();
    if (by_codes) {
      const Codes& from = *column.codes();
      codes.push_back({reinterpret_cast<const uint8_t*>(from.rows().row(offset)), from.factors()[offset],
                       from.biases()[offset], doc});
    } else {
      rows.push_back({column.rows().row(offset), column.scales()[offset], doc});
    }
  }
}

// What usearch says goes through all nodes and counts their bytes without what lies between them: so it is
// asked once, and the tape for what it took.
Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {
  while (state_->entry < size() && state_->index.level_of(state_->entry) < state_->index.max_level())
    ++state_->entry;
  for (uint32_t slot = 0; slot < size(); ++slot) state_->list_of(slot) = state_->index.at(slot).key.ptr();
  n_bytes_ = sizeof(State) + state_->rows.capacity() * sizeof(RowNode) +
             state_->codes.capacity() * sizeof(CodeNode) + state_->n_covered.capacity() * sizeof(uint32_t) +
             state_->index.memory_usage(0) - state_->index.stats().allocated_bytes +
             state_->index.tape_allocator().memory_bytes();
}
Graph::~Graph() = default;

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
    state->make_index();
    state->reserve(docs.size());
    switch (insert(*state, columns, docs, guard, cancelled)) {
      case Inserted::all:
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
  state->rows.reserve(coded() ? 0 : n_nodes);
  state->codes.reserve(coded() ? n_nodes : 0);
  state->rows = state_->rows;
  state->codes = state_->codes;
  state->options = state_->options;
  state->note(columns, docs, coded());
  auto copied = state_->index.copy();
  if (copied.error) {
    (void)copied.error.release();
    throw std::bad_alloc();
  }
  state->index = std::move(copied.index);
  for (uint32_t slot = 0; slot < size(); ++slot) {
    if (!state->index.at(slot).key.ptr()) throw std::bad_alloc();  // which copy() does not look for
  }
  state->reserve(n_nodes);
  if (insert(*state, columns, docs, guard, cancelled) != Inserted::all) return nullptr;
  return std::unique_ptr<Graph>(new Graph(std::move(state)));
}

bool Graph::coded() const noexcept { return state_->coded(); }

GraphAnswer Graph::search(const PreparedQuery& query, const GraphAsk& ask,
                          const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                          std::vector<uint32_t>& out) const {
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

template <class Node, class Distance>
GraphAnswer Graph::search_by(const std::vector<Node>& nodes, const Distance& distance, const GraphAsk& ask,
                             const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                             std::vector<uint32_t>& out) const {
  using End = GraphAnswer::End;
  const Index& index = state_->index;
  const Lists<Node> lists{index, nodes};
  Walk<Lists<Node>, Distance> walk(lists, distance, scratch);
  const auto n_nodes = static_cast<uint32_t>(size());
  const auto shown = [&](uint32_t slot) { return visible(nodes[slot].doc); };
  WalkLimits limits{ask.most_measured, ~size_t{0}};
  if (ask.least_visible > 0.0) limits.look_after = std::min(kLookedAbout, ask.expansion);
  const uint32_t start = walk.descend(state_->entry, static_cast<uint32_t>(index.max_level()));
  const WalkEnd end = walk.ground(start, n_nodes, ask.expansion, limits, [&](const auto& found) {
    const auto n = std::count_if(found.begin(), found.end(),
                                 [&](uint64_t key) { return shown(static_cast<uint32_t>(key)); });
    return static_cast<double>(n) >= ask.least_visible * static_cast<double>(found.size());
  });
  if (end == WalkEnd::too_long) return {End::too_long};
  if (end == WalkEnd::not_wanted) return {End::hidden};
  GraphAnswer answer{End::found, ask.expansion + 1};
  for (size_t i = 0; i < scratch.found.size(); ++i) {
    const auto slot = static_cast<uint32_t>(scratch.found[i]);
    if (!shown(slot)) continue;
    out.push_back(nodes[slot].doc);
    if (out.size() == ask.wanted) answer.rank = i + 1;
  }
  return answer;
}

uint32_t Graph::n_covered(size_t column) const noexcept {
  return column < state_->n_covered.size() ? state_->n_covered[column] : 0;
}
size_t Graph::size() const noexcept { return state_->size(); }
size_t Graph::memory_bytes() const noexcept { return n_bytes_; }

}  // namespace scrubjay::vector
