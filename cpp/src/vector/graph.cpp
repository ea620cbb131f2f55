#include "vector/graph.hpp"

#include <atomic>
#include <bit>
#include <new>
#include <optional>
#include <usearch/index.hpp>

#include "base/epoch.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::vector {
namespace {

// usearch checks for null and must not be thrown through.
template <class T>
struct NullAllocator {
  using value_type = T;
  NullAllocator() = default;
  template <class Other>
  explicit NullAllocator(const NullAllocator<Other>&) noexcept {}
  [[nodiscard]] T* allocate(size_t n) noexcept {
    return static_cast<T*>(
        ::operator new(n * sizeof(T), std::align_val_t{base::kCacheLineBytes}, std::nothrow));
  }
  void deallocate(T* memory, size_t) noexcept { base::free_aligned(memory); }
  bool operator==(const NullAllocator&) const noexcept { return true; }
};

using Index = unum::usearch::index_gt<float, uint32_t, uint32_t, NullAllocator<char>>;

[[nodiscard]] uint32_t slot_of(const Index::member_cref_t& entry) noexcept { return entry.slot; }
[[nodiscard]] uint32_t slot_of(const Index::member_citerator_t& entry) noexcept { return get_slot(entry); }

// Where a vector lies. The scale of a published document never changes, so a copy is as good.
struct Node {
  const char* row;
  RowScale scale;
};

// Distances between nodes, and from a query or a vector that is being inserted to nodes: smaller is nearer.
class Distance {
 public:
  Distance(const std::vector<Node>& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes), options_(options), kernels_(simd::kernels()) {}

  template <class Entry>
  [[nodiscard]] float operator()(const PreparedQuery& query, const Entry& entry) const noexcept {
    const Node& node = nodes_[slot_of(entry)];
    float dot = 0.0f;
    if (options_.storage == Storage::f16) {
      kernels_.dot_rows_f16(half_row(node), 1, options_.padded_dim(), query.elements.data(), &dot);
    } else {
      kernels_.dot_rows_f32(float_row(node), 1, options_.padded_dim(), query.elements.data(), &dot);
    }
    return -finish_similarity(options_.metric, dot, node.scale, query.square);
  }
  [[nodiscard]] float operator()(const Index::member_cref_t& a,
                                 const Index::member_cref_t& b) const noexcept {
    return between(nodes_[slot_of(a)], nodes_[slot_of(b)]);
  }
  [[nodiscard]] float operator()(const Index::member_citerator_t& a,
                                 const Index::member_citerator_t& b) const noexcept {
    return between(nodes_[slot_of(a)], nodes_[slot_of(b)]);
  }

 private:
  [[nodiscard]] static const uint16_t* half_row(const Node& node) noexcept {
    return reinterpret_cast<const uint16_t*>(node.row);
  }
  [[nodiscard]] static const float* float_row(const Node& node) noexcept {
    return reinterpret_cast<const float*>(node.row);
  }

  [[nodiscard]] float between(const Node& a, const Node& b) const noexcept {
    const size_t n = options_.padded_dim();
    const float dot = options_.storage == Storage::f16 ? kernels_.dot_f16_f16(half_row(a), half_row(b), n)
                                                       : kernels_.dot_f32_f32(float_row(a), float_row(b), n);
    switch (options_.metric) {
      case Metric::cosine:
        return -dot * a.scale.factor * b.scale.factor;
      case Metric::inner_product:
        return -dot * a.scale.scale * b.scale.scale;
      case Metric::l2:
        break;
    }
    return a.scale.square + b.scale.square - 2.0f * (a.scale.scale * b.scale.scale * dot);
  }

  const std::vector<Node>& nodes_;
  const ColumnOptions& options_;
  const simd::Kernels& kernels_;
};

// Asks for the rows that the graph will visit next.
struct Prefetch {
  const std::vector<Node>& nodes;
  size_t row_bytes;

  template <class Iterator>
  void operator()(Iterator begin, Iterator end) const noexcept {
    for (; begin != end; ++begin) {
      const char* row = nodes[get_slot(begin)].row;
      for (size_t byte = 0; byte < row_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(row + byte);
    }
  }
};

}  // namespace

struct Graph::State {
  ColumnOptions options;
  std::vector<Node> nodes;  // by slot
  std::vector<uint32_t> n_covered;
  Index index;
  mutable std::atomic<uint64_t> contexts_taken{0};  // a bit for each search context

  // A search context for one call; -1 if all are taken.
  class Context {
   public:
    explicit Context(std::atomic<uint64_t>& taken) noexcept : taken_(taken) {
      uint64_t bits = taken_.load(std::memory_order_relaxed);
      while (~bits != 0) {
        const int free = std::countr_one(bits);
        if (taken_.compare_exchange_weak(bits, bits | (uint64_t{1} << free), std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
          number_ = free;
          return;
        }
      }
    }
    ~Context() {
      if (number_ >= 0) taken_.fetch_and(~(uint64_t{1} << number_), std::memory_order_release);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    [[nodiscard]] int number() const noexcept { return number_; }

   private:
    std::atomic<uint64_t>& taken_;
    int number_ = -1;
  };
};

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::~Graph() = default;

std::unique_ptr<Graph> Graph::build(std::span<const Column* const> columns, std::span<const uint32_t> n_docs,
                                    const GraphOptions& options, const std::function<bool()>& cancelled) {
  auto state = std::make_unique<State>();
  std::vector<uint32_t> docs;
  std::optional<base::EpochGuard> guard(std::in_place);
  for (size_t c = 0; c < columns.size(); ++c) {
    state->n_covered.push_back(n_docs[c]);
    if (!columns[c]) continue;
    state->options = columns[c]->options();
    for (uint32_t doc = 0; doc < n_docs[c]; ++doc) {
      if (!columns[c]->has(doc)) continue;
      state->nodes.push_back({columns[c]->rows().row(doc), columns[c]->scales()[doc]});
      docs.push_back(static_cast<uint32_t>(c << 16) | doc);
    }
  }
  auto made = Index::make({options.connectivity, options.connectivity * 2});
  if (made.error) throw std::bad_alloc();
  state->index = std::move(made.index);
  // Reserved once, for one writer now and kMaxSearchers readers later: adding never grows, reserving moves
  // contexts.
  unum::usearch::index_limits_t limits(std::max<size_t>(docs.size(), 1), 1);
  limits.threads_search = kMaxSearchers;
  if (!state->index.try_reserve(limits)) throw std::bad_alloc();

  const Distance distance(state->nodes, state->options);
  const Prefetch prefetch{state->nodes, state->options.row_bytes()};
  PreparedQuery inserted;
  std::vector<float> vector(state->options.dim);
  unum::usearch::index_update_config_t update;
  update.expansion = options.expansion_build;
  for (size_t slot = 0; slot < docs.size(); ++slot) {
    if (slot % 256 == 0) {
      if (cancelled()) return nullptr;
      guard.emplace();  // a build is long: let what was retired meanwhile be freed
    }
    columns[docs[slot] >> 16]->read(docs[slot] & 0xffffu, vector);
    prepare_query(state->options, vector, inserted);
    auto added =
        state->index.add(docs[slot], inserted, distance, update, unum::usearch::dummy_callback_t{}, prefetch);
    if (added.error) {
      (void)added.error.release();
      throw std::bad_alloc();
    }
  }
  return std::unique_ptr<Graph>(new Graph(std::move(state)));
}

bool Graph::search(const PreparedQuery& query, size_t wanted, size_t expansion,
                   const std::function<bool(uint32_t)>& visible, std::vector<uint32_t>& out) const {
  const State::Context context(state_->contexts_taken);
  if (context.number() < 0) return false;
  const Distance distance(state_->nodes, state_->options);
  const Prefetch prefetch{state_->nodes, state_->options.row_bytes()};
  unum::usearch::index_search_config_t config;
  config.expansion = expansion;
  config.thread = static_cast<size_t>(context.number());
  const auto predicate = [&](const Index::member_cref_t& entry) { return visible(entry.key); };
  auto found = state_->index.search(query, wanted, distance, config, predicate, prefetch);
  if (found.error) {
    (void)found.error.release();
    return false;
  }
  for (size_t i = 0; i < found.size(); ++i) out.push_back(found[i].member.key);
  return true;
}

uint32_t Graph::n_covered(size_t column) const noexcept {
  return column < state_->n_covered.size() ? state_->n_covered[column] : 0;
}
size_t Graph::size() const noexcept { return state_->nodes.size(); }
size_t Graph::memory_bytes() const noexcept {
  return sizeof(State) + state_->nodes.capacity() * sizeof(Node) + state_->index.memory_usage(0);
}

}  // namespace scrubjay::vector
