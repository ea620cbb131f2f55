// Graph distance: the distance between two vectors of a graph, or between a query and one of them. Private to
// the graph's source files.
#pragma once

#include "simd/kernels.hpp"
#include "vector/graph_state.hpp"
#include "vector/row_products.hpp"

namespace scrubjay::vector {

// The slot of a node or of an iterator over nodes.
template <class Entry>
[[nodiscard]] uint32_t slot_of(const Entry& entry) noexcept {
  if constexpr (requires { entry.slot; }) {
    return entry.slot;
  } else {
    return get_slot(entry);
  }
}

// Distances between nodes, and from a query or a vector being inserted to nodes: smaller is nearer.
class RowDistance {
 public:
  RowDistance(const std::vector<RowNode>& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes), options_(options) {}

  template <class Entry>
  [[nodiscard]] float operator()(const PreparedQuery& query, const Entry& entry) const noexcept {
    const RowNode& node = nodes_[slot_of(entry)];
    float dot = 0.0f;
    dot_rows(options_.storage, node.row, 1, options_.padded_dim(), query.elements.data(), &dot);
    return -finish_similarity(options_.metric, dot, node.scale, query.square);
  }
  template <class Entry>
  [[nodiscard]] float operator()(const Entry& a, const Entry& b) const noexcept {
    return between(nodes_[slot_of(a)], nodes_[slot_of(b)]);
  }

 private:
  [[nodiscard]] float between(const RowNode& a, const RowNode& b) const noexcept {
    const float dot = dot_pair(options_.storage, a.row, b.row, options_.padded_dim());
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
};

// `dot`: the product of a node's code and a query.
[[nodiscard]] inline float distance_by_code(int32_t dot, const CodeNodes& nodes, uint32_t slot,
                                            const CodeQuery& query) noexcept {
  return -(static_cast<float>(2 * dot - query.offset) * (nodes[slot].factor * query.scale) +
           nodes.bias(slot));
}

// The same as estimated by codes (codes.hpp), at an eighth of the bytes.
class CodeDistance {
 public:
  CodeDistance(const CodeNodes& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes),
        n_blocks_(n_code_blocks(options.dim)),
        l2_(options.metric == Metric::l2),
        kernels_(simd::kernels()) {}

  template <class Entry>
  [[nodiscard]] float operator()(const PreparedQuery& query, const Entry& entry) const noexcept {
    const uint32_t slot = slot_of(entry);
    int32_t dot = 0;
    kernels_.dot_codes(nodes_.code(nodes_[slot]), 1, n_blocks_, query.code.elements.data(), &dot);
    return distance_by_code(dot, nodes_, slot, query.code);
  }
  // A code represents 128 factor (2c - 15) of the rotated vector, up to the error.
  template <class Entry>
  [[nodiscard]] float operator()(const Entry& a, const Entry& b) const noexcept {
    const CodeNode& first = nodes_[slot_of(a)];
    const CodeNode& other = nodes_[slot_of(b)];
    const auto dot =
        static_cast<float>(kernels_.dot_code_pair(nodes_.code(first), nodes_.code(other), n_blocks_));
    const float product = static_cast<float>(kBlockDims) * (first.factor * other.factor) * dot;
    return l2_ ? -0.5f * product - nodes_.bias(slot_of(a)) - nodes_.bias(slot_of(b)) : -product;
  }

 private:
  const CodeNodes& nodes_;
  const size_t n_blocks_;
  const bool l2_;
  const simd::Kernels& kernels_;
};

[[nodiscard]] inline const void* bytes_of(const std::vector<RowNode>& nodes, uint32_t slot) noexcept {
  return nodes[slot].row;
}
[[nodiscard]] inline const void* bytes_of(const CodeNodes& nodes, uint32_t slot) noexcept {
  return nodes.code(nodes[slot]);
}

template <class Nodes>
void prefetch_bytes(const Nodes& nodes, uint32_t slot, size_t n_bytes) noexcept {
  const auto* bytes = static_cast<const char*>(bytes_of(nodes, slot));
  for (size_t byte = 0; byte < n_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(bytes + byte);
}

// Distances from one query to many nodes at once, for Walk. A similarity is shift() minus the distance.
class RowsFromQuery {
 public:
  RowsFromQuery(const std::vector<RowNode>& nodes, const ColumnOptions& options,
                const PreparedQuery& query) noexcept
      : nodes_(nodes), row_bytes_(options.row_bytes()), one_(nodes, options), query_(query) {}

  [[nodiscard]] float shift() const noexcept { return 0.0f; }
  void announce(uint32_t slot) const noexcept { __builtin_prefetch(&nodes_[slot]); }
  void prefetch(uint32_t slot) const noexcept { prefetch_bytes(nodes_, slot, row_bytes_); }
  void measure(const uint32_t* slots, size_t n, float* out) const noexcept {
    for (size_t i = 0; i < n; ++i) out[i] = one_(query_, Slot{slots[i]});
  }

 private:
  struct Slot {
    uint32_t slot;
  };
  const std::vector<RowNode>& nodes_;
  const size_t row_bytes_;
  const RowDistance one_;
  const PreparedQuery& query_;
};

class CodesFromQuery {
 public:
  CodesFromQuery(const CodeNodes& nodes, const ColumnOptions& options, const PreparedQuery& query,
                 GraphScratch& scratch) noexcept
      : nodes_(nodes), n_blocks_(n_code_blocks(options.dim)), query_(query.code), scratch_(scratch) {}

  [[nodiscard]] float shift() const noexcept { return query_.shift; }
  void announce(uint32_t slot) const noexcept { nodes_.announce(slot); }
  void prefetch(uint32_t slot) const noexcept { prefetch_bytes(nodes_, slot, 64 * n_blocks_); }
  void measure(const uint32_t* slots, size_t n, float* out) const {
    scratch_.codes.resize(n);
    scratch_.dots.resize(n);
    for (size_t i = 0; i < n; ++i) scratch_.codes[i] = nodes_.code(nodes_[slots[i]]);
    simd::kernels().dot_picked_codes(scratch_.codes.data(), n, n_blocks_, query_.elements.data(),
                                     scratch_.dots.data());
    for (size_t i = 0; i < n; ++i) out[i] = distance_by_code(scratch_.dots[i], nodes_, slots[i], query_);
  }

 private:
  const CodeNodes& nodes_;
  const size_t n_blocks_;
  const CodeQuery& query_;
  GraphScratch& scratch_;
};

// Prefetches the vectors that usearch will visit next.
template <class Nodes>
struct Prefetch {
  const Nodes& nodes;
  size_t n_bytes;

  // `end` is const: usearch's comparisons are not, and C++20 would try them in both directions.
  template <class Iterator>
  void operator()(Iterator begin, const Iterator end) const noexcept {
    for (; begin != end; ++begin) prefetch_bytes(nodes, get_slot(begin), n_bytes);
  }
};

}  // namespace scrubjay::vector
