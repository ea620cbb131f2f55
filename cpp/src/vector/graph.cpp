#include "vector/graph.hpp"

#include <new>
#include <optional>

#include "base/epoch.hpp"
#include "vector/graph_distance.hpp"
#include "vector/graph_state.hpp"

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
  unum::usearch::index_limits_t limits(std::max<size_t>(n_nodes, 1), 1);
  limits.threads_search = kMaxSearchers;
  if (!index.try_reserve(limits)) throw std::bad_alloc();
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
                       from.biases()[offset]});
    } else {
      rows.push_back({column.rows().row(offset), column.scales()[offset]});
    }
  }
}

// What usearch says goes through all nodes and counts their bytes without what lies between them: so it is
// asked once, and the tape for what it took.
Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {
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
  // Searches of this graph change their own contexts and nothing else; of those the copy reads what only
  // insertions change.
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

bool Graph::search(const PreparedQuery& query, size_t wanted, size_t expansion,
                   const std::function<bool(uint32_t)>& visible, std::vector<uint32_t>& out) const {
  const State::Context context(state_->contexts_taken);
  if (context.number() < 0) return false;
  unum::usearch::index_search_config_t config;
  config.expansion = expansion;
  config.thread = static_cast<size_t>(context.number());
  const auto admits = [&](const Index::member_cref_t& entry) { return visible(entry.key); };
  const auto take = [&](auto&& found) {
    if (found.error) {
      (void)found.error.release();
      return false;
    }
    for (size_t i = 0; i < found.size(); ++i) out.push_back(found[i].member.key);
    return true;
  };
  const ColumnOptions& options = state_->options;
  if (!coded()) {
    return take(state_->index.search(query, wanted, RowDistance(state_->rows, options), config, admits,
                                     Prefetch<RowNode>{state_->rows, options.row_bytes()}));
  }
  return take(state_->index.search(query, wanted, CodeDistance(state_->codes, options), config, admits,
                                   Prefetch<CodeNode>{state_->codes, code_bytes(options.dim)}));
}

uint32_t Graph::n_covered(size_t column) const noexcept {
  return column < state_->n_covered.size() ? state_->n_covered[column] : 0;
}
size_t Graph::size() const noexcept { return state_->size(); }
size_t Graph::memory_bytes() const noexcept { return n_bytes_; }

}  // namespace scrubjay::vector
