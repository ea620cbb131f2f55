#include "vector/scan.hpp"

#include <algorithm>

#include "simd/kernels.hpp"
#include "vector/row_products.hpp"

namespace scrubjay::vector {
namespace {

// Buffers candidates for the best: they are offered some hundred at a time, so that the first threshold is
// found by counting and most of them never reach a heap.
class Offers {
 public:
  Offers(base::TopK& best, const simd::Kernels& kernels) noexcept : best_(best), kernels_(kernels) {}

  // Makes room for at most `n` more; the caller may add fewer.
  void make_room(size_t n) {
    if (n_ + n > kRoom) flush();
  }
  // Without branches: a candidate that does not count is overwritten.
  void add_if(bool counts, uint32_t score, uint32_t doc) noexcept {
    keys_[n_] = base::candidate_key(score, doc);
    halves_[n_] = score >> 1;
    n_ += counts ? 1 : 0;
  }
  void flush() {
    if (best_.threshold() == 0 && n_ > best_.k())
      best_.raise_threshold(2 * kernels_.kth_greatest(halves_, n_, best_.k(), 0));
    best_.push_all(n_, [&](size_t i) { return keys_[i]; });
    n_ = 0;
  }

 private:
  static constexpr size_t kRoom = 512;
  base::TopK& best_;
  const simd::Kernels& kernels_;
  size_t n_ = 0;
  uint64_t keys_[kRoom + 1];
  uint32_t halves_[kRoom + 1];
};

}  // namespace

void scan_chunk(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                base::TopK& best) {
  if (!vectors.column) return;
  const Column& column = *vectors.column;
  const ColumnOptions& options = column.options();
  const simd::Kernels& kernels = simd::kernels();
  const uint32_t n_docs = std::min(vectors.n_docs, column.size());
  constexpr uint32_t kBatch = 64;  // one word of the bitmap; the products stay in L1
  float dots[kBatch];
  const Metric metric = options.metric;
  const base::Bitmap* dead = vectors.dead;
  Offers offers(best, kernels);
  for (uint32_t begin = first_doc; begin < n_docs;) {
    const uint32_t end =
        std::min({n_docs, (begin / kBatch + 1) * kBatch,
                  (begin / base::RowBlocks::kRowsPerBlock + 1) * base::RowBlocks::kRowsPerBlock});
    const RowScales scales = column.scales();
    // Rows of a block are consecutive, but only as far as a vector was stored: restrict the run to its first
    // and last stored row.
    uint32_t first = begin, last = end;
    while (first < last && !scales.has(first)) ++first;
    while (last > first && !scales.has(last - 1)) --last;
    if (first < last) {
      dot_rows(options.storage, column.rows().row(first), last - first, options.padded_dim(),
               query.elements.data(), dots);
      offers.make_room(last - first);
      for (uint32_t doc = first; doc < last; ++doc) {
        const float similarity = finish_similarity(metric, dots[doc - first], scales[doc], query.square);
        const bool counts = scales.has(doc) && !(dead && dead->test(doc));
        offers.add_if(counts, base::sortable_float(similarity), (chunk << 16) | doc);
      }
    }
    begin = end;
  }
  offers.flush();
}

void gather_chunk(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                  const PreparedQuery& query, base::TopK& best) {
  if (!vectors.column) return;
  const Column& column = *vectors.column;
  const uint32_t n_docs = std::min(vectors.n_docs, column.size());
  const size_t row_bytes = column.options().row_bytes();
  constexpr size_t kAhead = 4;  // rows prefetched while one is processed
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (i + kAhead < offsets.size() && column.has(offsets[i + kAhead])) {
      const char* next = column.rows().row(offsets[i + kAhead]);
      for (size_t byte = 0; byte < row_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(next + byte);
    }
    const uint32_t doc = offsets[i];
    if (doc >= n_docs || !column.has(doc)) continue;
    const float similarity = column.similarity(doc, query);
    best.push(base::candidate_key(base::sortable_float(similarity), (chunk << 16) | doc));
  }
}

}  // namespace scrubjay::vector
