#include "vector/rescoring.hpp"

#include <algorithm>
#include <utility>

#include "base/growing.hpp"
#include "base/topk.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::vector {
namespace {

// row_of(i) is the row of the i-th document, scales_of(i) its column's scales and its number there.
template <class RowOf, class ScalesOf>
void score(const ColumnOptions& options, size_t n, const PreparedQuery& query, uint32_t* scores,
           RowOf&& row_of, ScalesOf&& scales_of) {
  constexpr size_t kAtOnce = 4, kAhead = 2 * kAtOnce;
  const simd::Kernels& kernels = simd::kernels();
  const size_t row_bytes = options.row_bytes();
  const auto prefetch = [&](size_t first, size_t last) {
    for (size_t i = first; i < std::min(last, n); ++i) {
      const char* row = row_of(i);
      for (size_t byte = 0; byte < row_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(row + byte);
      const auto [scales, doc] = scales_of(i);
      scales.prefetch(doc);
    }
  };
  const auto score_some = [&]<class Element>(auto dot_picked_rows, const Element*) {
    prefetch(0, kAhead);
    for (size_t first = 0; first < n; first += kAtOnce) {
      prefetch(first + kAhead, first + kAhead + kAtOnce);
      const size_t n_rows = std::min(kAtOnce, n - first);
      const Element* picked[kAtOnce];
      float dots[kAtOnce];
      for (size_t i = 0; i < n_rows; ++i) picked[i] = reinterpret_cast<const Element*>(row_of(first + i));
      dot_picked_rows(picked, n_rows, options.padded_dim(), query.elements.data(), dots);
      for (size_t i = 0; i < n_rows; ++i) {
        const auto [scales, doc] = scales_of(first + i);
        const float similarity = options.metric == Metric::cosine
                                     ? dots[i] * scales.factor(doc)
                                     : finish_similarity(options.metric, dots[i], scales[doc], query.square);
        scores[first + i] = base::sortable_float(similarity);
      }
    }
  };
  if (options.storage == Storage::f16) {
    score_some(kernels.dot_picked_rows_f16, static_cast<const uint16_t*>(nullptr));
  } else {
    score_some(kernels.dot_picked_rows_f32, static_cast<const float*>(nullptr));
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
