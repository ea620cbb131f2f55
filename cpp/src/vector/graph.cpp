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

// Of a node or of an iterator over nodes.
template <class Entry>
[[nodiscard]] uint32_t slot_of(const Entry& entry) noexcept {
  if constexpr (requires { entry.slot; }) {
    return entry.slot;
  } else {
    return get_slot(entry);
  }
}

// Where a vector lies, and what makes a similarity of it. What is published never changes, so a copy is as
// good.
struct RowNode {
  const char* row;
  RowScale scale;
};
struct CodeNode {
  const uint8_t* code;
  float factor;
  float bias;
};

// Distances between nodes, and from a query or a vector that is being inserted to nodes: smaller is nearer.
class RowDistance {
 public:
  RowDistance(const std::vector<RowNode>& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes), options_(options), kernels_(simd::kernels()) {}

  template <class Entry>
  [[nodiscard]] float operator()(const PreparedQuery& query, const Entry& entry) const noexcept {
    const RowNode& node = nodes_[slot_of(entry)];
    float dot = 0.0f;
    if (options_.storage == Storage::f16) {
      kernels_.dot_rows_f16(half_row(node), 1, options_.padded_dim(), query.elements.data(), &dot);
    } else {
      kernels_.dot_rows_f32(float_row(node), 1, options_.padded_dim(), query.elements.data(), &dot);
    }
    return -finish_similarity(options_.metric, dot, node.scale, query.square);
  }
  template <class Entry>
  [[nodiscard]] float operator()(const Entry& a, const Entry& b) const noexcept {
    return between(nodes_[slot_of(a)], nodes_[slot_of(b)]);
  }

 private:
  [[nodiscard]] static const uint16_t* half_row(const RowNode& node) noexcept {
    return reinterpret_cast<const uint16_t*>(node.row);
  }
  [[nodiscard]] static const float* float_row(const RowNode& node) noexcept {
    return reinterpret_cast<const float*>(node.row);
  }

  [[nodiscard]] float between(const RowNode& a, const RowNode& b) const noexcept {
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

  const std::vector<RowNode>& nodes_;
  const ColumnOptions& options_;
  const simd::Kernels& kernels_;
};

// The same as the codes estimate it (codes.hpp), at an eighth of the bytes.
class CodeDistance {
 public:
  CodeDistance(const std::vector<CodeNode>& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes),
        n_blocks_(n_code_blocks(options.dim)),
        l2_(options.metric == Metric::l2),
        kernels_(simd::kernels()) {}

  template <class Entry>
  [[nodiscard]] float operator()(const PreparedQuery& query, const Entry& entry) const noexcept {
    const CodeNode& node = nodes_[slot_of(entry)];
    int32_t dot = 0;
    kernels_.dot_codes(node.code, 1, n_blocks_, query.code.elements.data(), &dot);
    return -(static_cast<float>(2 * dot - query.code.offset) * (node.factor * query.code.scale) + node.bias);
  }
  // A code stands for 128 factor (2c - 15) of the rotated vector, up to the error.
  template <class Entry>
  [[nodiscard]] float operator()(const Entry& a, const Entry& b) const noexcept {
    const CodeNode& one = nodes_[slot_of(a)];
    const CodeNode& other = nodes_[slot_of(b)];
    const auto dot = static_cast<float>(kernels_.dot_code_pair(one.code, other.code, n_blocks_));
    const float product = static_cast<float>(kBlockDims) * (one.factor * other.factor) * dot;
    return l2_ ? -0.5f * product - one.bias - other.bias : -product;
  }

 private:
  const std::vector<CodeNode>& nodes_;
  const size_t n_blocks_;
  const bool l2_;
  const simd::Kernels& kernels_;
};

[[nodiscard]] const char* bytes_of(const RowNode& node) noexcept { return node.row; }
[[nodiscard]] const char* bytes_of(const CodeNode& node) noexcept {
  return reinterpret_cast<const char*>(node.code);
}

// Asks for the vectors that the graph will visit next.
template <class Node>
struct Prefetch {
  const std::vector<Node>& nodes;
  size_t n_bytes;

  template <class Iterator>
  void operator()(Iterator begin, Iterator end) const noexcept {
    for (; begin != end; ++begin) {
      const char* bytes = bytes_of(nodes[get_slot(begin)]);
      for (size_t byte = 0; byte < n_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(bytes + byte);
    }
  }
};

// Documents as the graph numbers them: column << 16 | document.
[[nodiscard]] std::vector<uint32_t> documents_of(std::span<const Column* const> columns,
                                                 std::span<const uint32_t> n_docs) {
  std::vector<uint32_t> docs;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c]) continue;
    for (uint32_t doc = 0; doc < n_docs[c]; ++doc) {
      if (columns[c]->has(doc)) docs.push_back(static_cast<uint32_t>(c << 16) | doc);
    }
  }
  return docs;
}

// Whether every one of the documents has a code that can be compared (not one that is always looked at).
[[nodiscard]] bool all_coded(std::span<const Column* const> columns, const std::vector<uint32_t>& docs) {
  for (const uint32_t doc : docs) {
    const Codes* codes = columns[doc >> 16]->codes();
    if (!codes || codes->size() <= (doc & 0xffffu) || !(codes->biases()[doc & 0xffffu] <= 0.0f)) return false;
  }
  return true;
}

}  // namespace

struct Graph::State {
  ColumnOptions options;
  std::vector<RowNode> rows;  // by slot; one of these two is empty
  std::vector<CodeNode> codes;
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
  std::optional<base::EpochGuard> guard(std::in_place);
  state->n_covered.assign(n_docs.begin(), n_docs.end());
  const std::vector<uint32_t> docs = documents_of(columns, n_docs);
  const bool coded = !docs.empty() && all_coded(columns, docs);
  for (const uint32_t doc : docs) {
    const Column& column = *columns[doc >> 16];
    const uint32_t offset = doc & 0xffffu;
    state->options = column.options();
    if (coded) {
      const Codes& codes = *column.codes();
      state->codes.push_back({reinterpret_cast<const uint8_t*>(codes.rows().row(offset)),
                              codes.factors()[offset], codes.biases()[offset]});
    } else {
      state->rows.push_back({column.rows().row(offset), column.scales()[offset]});
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

  PreparedQuery inserted;
  std::vector<float> vector(state->options.dim);
  unum::usearch::index_update_config_t update;
  update.expansion = options.expansion_build;
  const auto insert_all = [&](const auto& distance, const auto& prefetch) {
    for (size_t slot = 0; slot < docs.size(); ++slot) {
      if (slot % 256 == 0) {
        if (cancelled()) return false;
        guard.emplace();  // a build is long: let what was retired meanwhile be freed
      }
      columns[docs[slot] >> 16]->read(docs[slot] & 0xffffu, vector);
      prepare_query(state->options, vector, inserted);
      if (coded && !prepare_code_query(state->options, inserted.elements, inserted.square, inserted.code))
        continue;  // cannot be: such a vector has no comparable code
      auto added = state->index.add(docs[slot], inserted, distance, update, unum::usearch::dummy_callback_t{},
                                    prefetch);
      if (added.error) {
        (void)added.error.release();
        throw std::bad_alloc();
      }
    }
    return true;
  };
  const bool done = coded ? insert_all(CodeDistance(state->codes, state->options),
                                       Prefetch<CodeNode>{state->codes, code_bytes(state->options.dim)})
                          : insert_all(RowDistance(state->rows, state->options),
                                       Prefetch<RowNode>{state->rows, state->options.row_bytes()});
  if (!done) return nullptr;
  return std::unique_ptr<Graph>(new Graph(std::move(state)));
}

bool Graph::coded() const noexcept { return !state_->codes.empty(); }

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
size_t Graph::size() const noexcept { return state_->rows.size() + state_->codes.size(); }
size_t Graph::memory_bytes() const noexcept {
  return sizeof(State) + state_->rows.capacity() * sizeof(RowNode) +
         state_->codes.capacity() * sizeof(CodeNode) + state_->index.memory_usage(0);
}

}  // namespace scrubjay::vector
