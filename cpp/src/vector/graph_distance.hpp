// Graph distance: distances between nodes of a graph, and from a vector to many of them. Smaller is nearer.
// Private to the graph's source files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/kernels.hpp"
#include "vector/graph_state.hpp"
#include "vector/row_products.hpp"

namespace scrubjay::vector {

inline void prefetch_bytes(const void* memory, size_t n_bytes) noexcept {
  const auto* bytes = static_cast<const char*>(memory);
  for (size_t byte = 0; byte < n_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(bytes + byte);
}

// From one vector to many nodes at once, for Walk. A similarity is shift() minus the distance; for l2 without
// codes distances are squared distances.
class RowsFromQuery {
 public:
  RowsFromQuery(const std::vector<RowNode>& nodes, const ColumnOptions& options,
                const PreparedQuery& query) noexcept
      : nodes_(nodes), options_(options), query_(query) {}

  [[nodiscard]] float shift() const noexcept { return 0.0f; }
  void announce(uint32_t slot) const noexcept { __builtin_prefetch(&nodes_[slot]); }
  void prefetch(uint32_t slot) const noexcept { prefetch_bytes(nodes_[slot].row, options_.row_bytes()); }
  void measure(const uint32_t* slots, size_t n, float* out) const noexcept {
    for (size_t i = 0; i < n; ++i) {
      const RowNode& node = nodes_[slots[i]];
      float dot = 0.0f;
      dot_rows(options_.storage, node.row, 1, options_.padded_dim(), query_.elements.data(), &dot);
      out[i] = -finish_similarity(options_.metric, dot, node.scale, query_.square);
    }
  }

 private:
  const std::vector<RowNode>& nodes_;
  const ColumnOptions& options_;
  const PreparedQuery& query_;
};

// The same as estimated by codes (codes.hpp), at an eighth of the bytes. For l2 the square of the vector's own
// length is left out: shift() is minus that square.
class CodesFromQuery {
 public:
  CodesFromQuery(const CodeNodes& nodes, const ColumnOptions& options, const PreparedQuery& query,
                 GraphScratch& scratch) noexcept
      : nodes_(nodes), n_blocks_(n_code_blocks(options.dim)), query_(query.code), scratch_(scratch) {}

  [[nodiscard]] float shift() const noexcept { return query_.shift; }
  void announce(uint32_t slot) const noexcept { nodes_.announce(slot); }
  void prefetch(uint32_t slot) const noexcept {
    prefetch_bytes(nodes_.code(nodes_[slot]), kBlockDims / 2 * n_blocks_);
  }
  void measure(const uint32_t* slots, size_t n, float* out) const {
    scratch_.codes.resize(n);
    scratch_.dots.resize(n);
    for (size_t i = 0; i < n; ++i) scratch_.codes[i] = nodes_.code(nodes_[slots[i]]);
    simd::kernels().dot_picked_codes(scratch_.codes.data(), n, n_blocks_, query_.elements.data(),
                                     scratch_.dots.data());
    for (size_t i = 0; i < n; ++i) {
      const auto dot = static_cast<float>(2 * scratch_.dots[i] - query_.offset);
      out[i] = -(dot * (nodes_[slots[i]].factor * query_.scale) + nodes_.bias(slots[i]));
    }
  }

 private:
  const CodeNodes& nodes_;
  const size_t n_blocks_;
  const CodeQuery& query_;
  GraphScratch& scratch_;
};

// Between two nodes, in the unit of the distances from queries plus their shift: minus the similarity.
class RowsBetween {
 public:
  RowsBetween(const std::vector<RowNode>& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes), options_(options) {}

  [[nodiscard]] float operator()(uint32_t one, uint32_t other) const noexcept {
    const RowNode &a = nodes_[one], &b = nodes_[other];
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
  // From one node to many.
  void measure(uint32_t from, const uint32_t* slots, size_t n, float* out) const noexcept {
    for (size_t i = 0; i < n; ++i) prefetch_bytes(nodes_[slots[i]].row, options_.row_bytes());
    for (size_t i = 0; i < n; ++i) out[i] = (*this)(from, slots[i]);
  }

 private:
  const std::vector<RowNode>& nodes_;
  const ColumnOptions& options_;
};

// A code represents 128 factor (2c - 15) of the rotated vector, up to the error.
class CodesBetween {
 public:
  CodesBetween(const CodeNodes& nodes, const ColumnOptions& options) noexcept
      : nodes_(nodes),
        n_blocks_(n_code_blocks(options.dim)),
        l2_(options.metric == Metric::l2),
        kernels_(simd::kernels()) {}

  [[nodiscard]] float operator()(uint32_t one, uint32_t other) const noexcept {
    const CodeNode &a = nodes_[one], &b = nodes_[other];
    const auto dot = static_cast<float>(kernels_.dot_code_pair(nodes_.code(a), nodes_.code(b), n_blocks_));
    const float product = static_cast<float>(kBlockDims) * (a.factor * b.factor) * dot;
    return l2_ ? -0.5f * product - nodes_.bias(one) - nodes_.bias(other) : -product;
  }
  void measure(uint32_t from, const uint32_t* slots, size_t n, float* out) const noexcept {
    for (size_t i = 0; i < n; ++i) nodes_.announce(slots[i]);
    for (size_t i = 0; i < n; ++i) prefetch_bytes(nodes_.code(nodes_[slots[i]]), kBlockDims / 2 * n_blocks_);
    for (size_t i = 0; i < n; ++i) out[i] = (*this)(from, slots[i]);
  }

 private:
  const CodeNodes& nodes_;
  const size_t n_blocks_;
  const bool l2_;
  const simd::Kernels& kernels_;
};

}  // namespace scrubjay::vector
