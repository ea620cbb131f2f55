#include "vector/rescoring.hpp"

#include <algorithm>
#include <utility>

#include "base/growing.hpp"
#include "base/topk.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::vector {
namespace {

// All cache lines of a row; four per step, as most rows have eight or more.
inline void prefetch_row(const char* row, size_t row_bytes) noexcept {
  constexpr size_t kLine = base::kCacheLineBytes;
  size_t byte = 0;
  for (; byte + 4 * kLine <= row_bytes; byte += 4 * kLine) {
    __builtin_prefetch(row + byte);
    __builtin_prefetch(row + byte + kLine);
    __builtin_prefetch(row + byte + 2 * kLine);
    __builtin_prefetch(row + byte + 3 * kLine);
  }
  for (; byte < row_bytes; byte += kLine) __builtin_prefetch(row + byte);
}

// row_of(i): the row of the i-th document; scales_of(i): its column's scales and its number there.
template <class Element, class RowOf, class ScalesOf, class DotRows>
void score_rows(const ColumnOptions& options, size_t n, const PreparedQuery& query, uint32_t* scores,
                RowOf&& row_of, ScalesOf&& scales_of, DotRows dot_picked_rows) {
  constexpr size_t kAtOnce = 4, kAhead = 4 * kAtOnce, kRing = 8 * kAtOnce;
  static_assert(kAhead + kAtOnce <= kRing);
  const size_t row_bytes = options.row_bytes(), n_elements = options.padded_dim();
  const float* const elements = query.elements.data();
  const Element* rows[kRing];
  size_t n_announced = 0;
  const auto announce = [&](size_t end) {
    for (end = std::min(end, n); n_announced < end; ++n_announced) {
      const char* row = row_of(n_announced);
      rows[n_announced % kRing] = reinterpret_cast<const Element*>(row);
      prefetch_row(row, row_bytes);
      const auto [scales, doc] = scales_of(n_announced);
      scales.prefetch(doc);
    }
  };
  announce(kAhead);
  for (size_t first = 0; first < n; first += kAtOnce) {
    announce(first + kAhead + kAtOnce);
    const size_t n_rows = std::min(kAtOnce, n - first);
    float dots[kAtOnce];
    dot_picked_rows(rows + first % kRing, n_rows, n_elements, elements, dots);
    for (size_t i = 0; i < n_rows; ++i) {
      const auto [scales, doc] = scales_of(first + i);
      const float similarity = options.metric == Metric::cosine
                                   ? dots[i] * scales.factor(doc)
                                   : finish_similarity(options.metric, dots[i], scales[doc], query.square);
      scores[first + i] = base::sortable_float(similarity);
    }
  }
}

template <class RowOf, class ScalesOf>
void score(const ColumnOptions& options, size_t n, const PreparedQuery& query, uint32_t* scores,
           RowOf&& row_of, ScalesOf&& scales_of) {
  const simd::Kernels& kernels = simd::kernels();
  switch (options.storage) {
    case Storage::f16:
      return score_rows<uint16_t>(options, n, query, scores, row_of, scales_of, kernels.dot_picked_rows_f16);
    case Storage::f32:
      return score_rows<float>(options, n, query, scores, row_of, scales_of, kernels.dot_picked_rows_f32);
    case Storage::i8:
      return score_rows<int8_t>(options, n, query, scores, row_of, scales_of, kernels.dot_picked_rows_i8);
  }
}

}  // namespace

void score_documents(const Column& column, const uint32_t* docs, size_t n, const PreparedQuery& query,
                     uint32_t* scores) {
  const RowScales scales = column.scales();
  const base::RowBlocks& rows = column.rows();
  score(
      column.options(), n, query, scores, [&](size_t i) { return rows.row(docs[i]); },
      [&](size_t i) { return std::pair(scales, docs[i]); });
}

void announce_document(const Column& column, uint32_t doc) noexcept {
  constexpr int kForReading = 0, kSecondLevel = 2;
  const char* row = column.rows().row(doc);
  for (size_t byte = 0; byte < column.options().row_bytes(); byte += base::kCacheLineBytes)
    __builtin_prefetch(row + byte, kForReading, kSecondLevel);
}

void score_documents(std::span<const Column* const> columns, const uint32_t* docs, size_t n,
                     const PreparedQuery& query, uint32_t* scores) {
  if (n == 0) return;
  const auto column = [&](size_t i) -> const Column& { return *columns[docs[i] >> 16]; };
  const auto offset = [&](size_t i) { return docs[i] & 0xffffu; };
  score(
      column(0).options(), n, query, scores, [&](size_t i) { return column(i).rows().row(offset(i)); },
      [&](size_t i) { return std::pair(column(i).scales(), offset(i)); });
}

}  // namespace scrubjay::vector
