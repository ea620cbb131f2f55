// Codes: estimates of similarities with a known error, at an eighth of the bytes.
//
// Beside its stored row a vector has a code of four bits per element, for the first pass of a search:
//     u       the stored vector, normalised
//     h       H S u: random signs, groups of 16 elements distributed over blocks of 128, and the
//             Walsh-Hadamard transform of each block. A rotation: outliers are spread over a block, so one
//             step fits all.
//     c       clamp(floor(h / step + 8), 0, 15), step = 0.9 max|h| / 7.5
// The inner product of a query with u is estimated, without bias in the direction of u, by
//     <H S q, 2c - 15> / <h, 2c - 15>        (Gao and Long 2024, RaBitQ, section 3.2, for a scalar grid)
// whose error is close to normal with a standard deviation of |q| times `error` (measured on real
// embeddings: 0.89 to 1.00 of it). So `estimate + z * error` bounds the similarity with a known probability,
// and a search that scores every vector whose bound reaches the k-th best exact similarity misses few: that
// is the recall setting.
//
// The query is rotated likewise and rounded to eight bits, so the first pass sums integers and is the same on
// every CPU. One writer, any number of readers under an epoch guard, like the column.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/growing.hpp"
#include "base/place.hpp"
#include "vector/code_scale.hpp"
#include "vector/metric.hpp"
#include "vector/signs.hpp"

namespace scrubjay::vector {

struct ColumnOptions;
struct RowScale;

inline constexpr uint32_t kBlockDims = 128;
// Shorter vectors are compared as fast without codes.
inline constexpr uint32_t kLeastCodedDim = 64;

[[nodiscard]] constexpr uint32_t n_code_blocks(uint32_t dim) noexcept {
  return (dim + kBlockDims - 1) / kBlockDims;
}
// Whether codes of this dimension have signs, too.
[[nodiscard]] constexpr bool has_signs(uint32_t dim) noexcept {
  return n_code_blocks(dim) >= kLeastSignedBlocks;
}
[[nodiscard]] constexpr size_t code_bytes(uint32_t dim) noexcept { return 64 * n_code_blocks(dim); }

// A rotated query with eight bits per element.
struct CodeQuery {
  std::vector<float> rotated;
  std::vector<int8_t> elements;
  int32_t offset = 0;   // 15 times the sum of the elements
  float scale = 0.0f;   // of an element
  float length = 0.0f;  // |q|: the unit of errors
  float shift = 0.0f;   // l2: -|q|^2
};

class Codes {
 public:
  explicit Codes(const ColumnOptions& options);

  // For the writer: appends the code of document `doc` (the next one or a later one, where skipped documents
  // have no code; or the last one again). `row`: the stored row with its padding, of non-zero length; empty:
  // no vector.
  void append(uint32_t doc, std::span<const float> row, const RowScale& scale);

  // Allocates empty codes for n documents of an image, and appends the places of its sections in order: per
  // document a factor, for l2 a bias, and an error; the codes of documents that have a vector (by the
  // exponents of the column).
  void place(uint32_t n_docs, const int16_t* exponents, std::vector<base::Place>& out);
  // Publishes them once the bytes have arrived. Returns false, leaving the codes unusable, if they cannot be
  // what was stored. Cost: a check of the numbers, and the signs if the vectors have them.
  [[nodiscard]] bool settle(uint32_t n_docs, const int16_t* exponents);

  // For readers: documents below size() have codes.
  [[nodiscard]] uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] const base::RowBlocks& rows() const noexcept { return rows_; }
  [[nodiscard]] const float* factors() const noexcept { return factors_.read(); }
  [[nodiscard]] const float* biases() const noexcept { return biases_.read(); }  // null except for l2
  [[nodiscard]] const CodeError* errors() const noexcept { return errors_.read(); }
  [[nodiscard]] uint32_t n_blocks() const noexcept { return n_blocks_; }
  [[nodiscard]] const Signs* signs() const noexcept { return signs_.get(); }  // null for short vectors

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return rows_.memory_bytes() + factors_.memory_bytes() + biases_.memory_bytes() + errors_.memory_bytes() +
           (signs_ ? signs_->memory_bytes() : 0);
  }

 private:
  [[nodiscard]] CodeScale encode(std::span<const float> row, const RowScale& scale, uint8_t* code);

  const Metric metric_;
  const uint32_t n_blocks_;
  base::RowBlocks rows_;
  base::GrowingArray<float> factors_, biases_;
  base::GrowingArray<CodeError> errors_;
  const std::unique_ptr<Signs> signs_;
  std::atomic<uint32_t> size_{0};
  std::vector<float> rotated_;  // writer's scratch
};

// `query`: the prepared elements with their padding (cosine: normalised); `square`: the squared length before
// normalisation. Returns false if the query is too long or too short for bounds in single precision; the rows
// must then be scanned.
[[nodiscard]] bool prepare_code_query(const ColumnOptions& options, std::span<const float> query,
                                      float square, CodeQuery& out);

// The margin in errors with which a vector that belongs among the nearest is missed with at most this
// probability: the normal quantile (Abramowitz and Stegun 26.2.23).
[[nodiscard]] float margin_for(double miss_probability) noexcept;

}  // namespace scrubjay::vector
