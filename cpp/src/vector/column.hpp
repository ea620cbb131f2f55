// Vector column: the vectors of a chunk's documents.
//
// A vector is stored as a row (half or single precision or bytes, padded with zeros to a multiple of 16
// elements) and a scale. Of floats the scale is a power of two, chosen so that the row's largest element is in
// [0.5, 1): no magnitude overflows, and values that half precision can represent are exact. Of bytes it is the
// step between two of them (byte_scale.hpp). The stored vector is `scale * row`, and similarities are exact for
// the stored vectors:
//     cosine          <q, row> / (|q| |row|)
//     inner product   <q, row> * scale
//     l2              -max(0, |q|^2 + |scale row|^2 - 2 scale <q, row>)
// up to the rounding of single-precision sums: at most 1e-6 |q||d| (cosine: 1e-6) from the exact value for
// the *stored* vector. Half precision moves a stored vector by at most 5e-4 of its norm from the given one,
// bytes move each element by at most 1/253 of the largest one (1/127 if that is below 2^-119).
//
// One writer, any number of readers under an epoch guard; rows below the published document
// count never change.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/growing.hpp"
#include "base/place.hpp"
#include "vector/codes.hpp"
#include "vector/exponent.hpp"
#include "vector/metric.hpp"

namespace scrubjay::vector {

struct ColumnOptions {
  uint32_t dim = 0;
  Metric metric = Metric::cosine;
  Storage storage = Storage::f16;

  [[nodiscard]] uint32_t padded_dim() const noexcept { return (dim + 15) / 16 * 16; }
  [[nodiscard]] size_t row_bytes() const noexcept { return size_t{padded_dim()} * element_bytes(storage); }
};

// Whether these bytes can be the output of encode_row().
[[nodiscard]] bool stored_row_in_range(const ColumnOptions& options, const char* row) noexcept;

// The factors that turn <q, row> into a similarity. scale is zero if the document has no vector.
struct RowScale {
  float scale = 0.0f;
  float factor = 0.0f;  // cosine: 1 / |row|; otherwise scale
  float square = 0.0f;  // l2: |scale row|^2; otherwise zero
};

// Writes the row of a vector (options.row_bytes() bytes) and returns its scale, as append() stores them.
// `vector` has dim finite elements, not all zero.
[[nodiscard]] RowScale encode_row(const ColumnOptions& options, std::span<const float> vector, char* row);

// The scales of a column's documents, stored as an exponent and one more number where the metric needs it: half
// the bytes of RowScale, some of which each search of codes reads.
class RowScales {
 public:
  static constexpr int16_t kNoVector = std::numeric_limits<int16_t>::min();

  RowScales(const ColumnOptions& options, const int16_t* exponents, const float* values) noexcept
      : metric_(options.metric),
        fraction_bits_(exponent_fraction_bits(options.storage)),
        exponents_(exponents),
        values_(values) {}

  [[nodiscard]] bool has(uint32_t doc) const noexcept { return exponents_[doc] != kNoVector; }
  [[nodiscard]] RowScale operator[](uint32_t doc) const noexcept {
    if (!has(doc)) return {};
    const float scale = scale_of_exponent(exponents_[doc], fraction_bits_);
    switch (metric_) {
      case Metric::cosine:
        return {scale, values_[doc], 0.0f};
      case Metric::inner_product:
        return {scale, scale, 0.0f};
      case Metric::l2:
        break;
    }
    return {scale, scale, values_[doc]};
  }
  // The stored form.
  [[nodiscard]] int16_t exponent(uint32_t doc) const noexcept { return exponents_[doc]; }
  [[nodiscard]] float value(uint32_t doc) const noexcept { return values_ ? values_[doc] : 0.0f; }
  // 1 / |row| of a document that has a vector, for the cosine.
  [[nodiscard]] float factor(uint32_t doc) const noexcept { return values_[doc]; }
  // Prefetches what operator[] reads.
  void prefetch(uint32_t doc) const noexcept {
    __builtin_prefetch(exponents_ + doc);
    if (values_) __builtin_prefetch(values_ + doc);
  }

 private:
  Metric metric_;
  uint32_t fraction_bits_;
  const int16_t* exponents_;
  const float* values_;
};

// A query vector, ready for any number of rows. Cosine: normalised.
struct PreparedQuery {
  std::vector<float> elements;  // padded
  float square = 0.0f;          // |q|^2
  CodeQuery code;               // after prepare_code_query()
};

class Column {
 public:
  // A column of at least this many documents, of a dimension worth coding, has codes beside its rows.
  static constexpr uint32_t kCodedDocs = 64;

  explicit Column(const ColumnOptions& options) : options_(options), rows_(options.row_bytes()) {}
  ~Column() { delete codes_.load(std::memory_order_relaxed); }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  // For the writer: stores the vector of document `doc` (the next one or a later one; skipped documents have
  // no vector). `vector` has dim finite elements, not all zero; an empty span stores "no vector".
  void append(uint32_t doc, std::span<const float> vector);

  // The same with the vector that a column with the same options stores for document `from_doc`, bit for bit.
  void append_copy(uint32_t doc, const Column& from, uint32_t from_doc);

  // The same with a row (of row_bytes() bytes) and its scale, taken earlier from such a column.
  void append_stored(uint32_t doc, const RowScale& scale, const char* row);

  // Fills an empty column with the n documents of an image, whose sections arrive in this order: per document
  // a 16-bit exponent and, except for the inner product, a 32-bit value; the rows of documents that have a
  // vector; the codes, if there are any (Codes::place). Each function allocates, and appends the places of
  // the bytes: place_scales() first, the others once the scales have arrived. settle() publishes the
  // documents; it returns false, leaving the column unusable, if they cannot be what was stored. Rows are not
  // checked (see stored_row_in_range()).
  void place_scales(uint32_t n_docs, std::vector<base::Place>& out);
  [[nodiscard]] uint32_t n_placed_rows(uint32_t n_docs) const noexcept;
  void place_rows(uint32_t n_docs, std::vector<base::Place>& out);
  [[nodiscard]] size_t placed_code_bytes(uint32_t n_docs) const noexcept;
  void place_codes(uint32_t n_docs, std::vector<base::Place>& out);
  [[nodiscard]] bool settle(uint32_t n_docs);

  // For readers: documents from size() on have no vector; size() may lag behind the chunk's document count.
  [[nodiscard]] uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] RowScales scales() const noexcept { return {options_, exponents_.read(), values_.read()}; }
  [[nodiscard]] const base::RowBlocks& rows() const noexcept { return rows_; }
  [[nodiscard]] const ColumnOptions& options() const noexcept { return options_; }
  [[nodiscard]] bool has(uint32_t doc) const noexcept { return doc < size() && scales().has(doc); }

  // Reads the stored vector of a document that has one.
  void read(uint32_t doc, std::span<float> out) const;
  // Similarity of the document to a query.
  [[nodiscard]] float similarity(uint32_t doc, const PreparedQuery& query) const;

  // Null while the column is small; otherwise codes of the same documents, whose size() may lag or lead.
  [[nodiscard]] const Codes* codes() const noexcept { return codes_.load(std::memory_order_acquire); }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    const Codes* codes = this->codes();
    return rows_.memory_bytes() + exponents_.memory_bytes() + values_.memory_bytes() +
           (codes ? codes->memory_bytes() : 0);
  }

 private:
  void reserve(uint32_t doc);
  void put(uint32_t doc, const RowScale& scale) noexcept;
  void append_code(uint32_t doc);
  [[nodiscard]] bool scales_in_range(uint32_t n_docs) const noexcept;
  void read_row(uint32_t doc, std::span<float> out) const;

  const ColumnOptions options_;
  std::atomic<uint32_t> size_{0};
  base::RowBlocks rows_;
  base::GrowingArray<int16_t> exponents_;
  base::GrowingArray<float> values_;  // cosine: factors; l2: squares; else empty
  std::atomic<Codes*> codes_{nullptr};
};

// `query` has dim finite elements, for the cosine not all zero.
void prepare_query(const ColumnOptions& options, std::span<const float> query, PreparedQuery& out);
// The same for a query whose norm is known.
void prepare_query(const ColumnOptions& options, std::span<const float> query, double length,
                   PreparedQuery& out);

// The similarity for an inner product with a row.
[[nodiscard]] inline float finish_similarity(Metric metric, float dot, const RowScale& scale,
                                             float query_square) noexcept {
  if (metric != Metric::l2) return dot * scale.factor;
  const float distance = (query_square + scale.square) - 2.0f * (scale.scale * dot);
  return distance > 0.0f ? -distance : 0.0f;
}

// Euclidean norm in double precision.
[[nodiscard]] double norm(std::span<const float> vector) noexcept;

}  // namespace scrubjay::vector
