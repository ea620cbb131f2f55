#include "vector/column.hpp"

#include <cmath>
#include <memory>

#include "simd/kernels.hpp"
#include "vector/block_exponent.hpp"
#include "vector/byte_scale.hpp"
#include "vector/row_products.hpp"

namespace scrubjay::vector {
namespace {

// The writer's scratch for a padded row. Not a member of the column: there may be a million columns.
std::vector<float>& scratch_row() {
  thread_local std::vector<float> row;
  return row;
}

}  // namespace

double norm(std::span<const float> vector) noexcept {
  double sums[8] = {};  // independent sums, which run in parallel
  size_t i = 0;
  for (; i + 8 <= vector.size(); i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) {
      const auto x = static_cast<double>(vector[i + lane]);
      sums[lane] += x * x;
    }
  }
  for (; i < vector.size(); ++i)
    sums[i % 8] += static_cast<double>(vector[i]) * static_cast<double>(vector[i]);
  return std::sqrt(((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
}

void Column::reserve(uint32_t doc) {
  const uint32_t n_used = size_.load(std::memory_order_relaxed);
  exponents_.reserve(doc + 1, n_used);
  if (options_.metric != Metric::inner_product) values_.reserve(doc + 1, n_used);
  for (uint32_t missing = n_used; missing < doc; ++missing) put(missing, {});
}

void Column::put(uint32_t doc, const RowScale& scale) noexcept {
  exponents_.data()[doc] = scale.scale == 0.0f
                               ? RowScales::kNoVector
                               : exponent_of_scale(scale.scale, exponent_fraction_bits(options_.storage));
  if (options_.metric != Metric::inner_product)
    values_.data()[doc] = options_.metric == Metric::cosine ? scale.factor : scale.square;
}

void Column::append_copy(uint32_t doc, const Column& from, uint32_t from_doc) {
  append_stored(doc, from.scales()[from_doc], from.rows_.row(from_doc));
}

void Column::append_stored(uint32_t doc, const RowScale& scale, const char* row) {
  reserve(doc);
  std::memcpy(rows_.place(doc, size_.load(std::memory_order_relaxed)), row, rows_.row_bytes());
  put(doc, scale);
  append_code(doc);
  size_.store(doc + 1, std::memory_order_release);
}

// The document's row and scale are stored already; size() does not include it yet.
void Column::append_code(uint32_t doc) {
  if (options_.dim < kLeastCodedDim) return;
  std::vector<float>& row = scratch_row();
  const auto append = [&](Codes& codes, uint32_t of) {
    if (!scales().has(of)) return codes.append(of, {}, {});
    row.resize(options_.padded_dim());
    read_row(of, row);
    codes.append(of, row, scales()[of]);
  };
  // Also for few documents: a failed write of many may have left codes at their positions.
  if (Codes* codes = codes_.load(std::memory_order_relaxed)) return append(*codes, doc);
  if (doc + 1 < kCodedDocs) return;
  auto codes = std::make_unique<Codes>(options_);
  for (uint32_t of = 0; of <= doc; ++of) append(*codes, of);
  codes_.store(codes.release(), std::memory_order_release);
}

void Column::read_row(uint32_t doc, std::span<float> out) const {
  widen_row(options_.storage, rows_.row(doc), out.size(), out.data());
}

RowScale encode_row(const ColumnOptions& options, std::span<const float> vector, char* place) {
  const uint32_t padded = options.padded_dim();
  std::vector<float>& row = scratch_row();
  row.assign(padded, 0.0f);
  RowScale scale;
  if (options.storage == Storage::i8) {
    scale.scale = byte_step(vector);
    auto* bytes = reinterpret_cast<int8_t*>(place);
    to_bytes(vector, scale.scale, bytes);
    std::memset(bytes + vector.size(), 0, padded - vector.size());
  } else {
    const int exponent = block_exponent(vector);
    scale.scale = std::ldexp(1.0f, exponent);
    multiply_by_power(vector, -exponent, row.data());
    if (options.storage == Storage::f16) {
      simd::kernels().to_f16(row.data(), padded, reinterpret_cast<uint16_t*>(place));
    } else {
      std::memcpy(place, row.data(), padded * sizeof(float));
    }
  }
  widen_row(options.storage, place, padded, row.data());  // the stored elements determine the rest
  const double row_norm = norm(row), step = static_cast<double>(scale.scale);
  scale.factor = options.metric == Metric::cosine ? static_cast<float>(1.0 / row_norm) : scale.scale;
  if (options.metric == Metric::l2) scale.square = static_cast<float>(row_norm * row_norm * (step * step));
  return scale;
}

void Column::append(uint32_t doc, std::span<const float> vector) {
  reserve(doc);
  RowScale scale;
  if (!vector.empty())
    scale = encode_row(options_, vector, rows_.place(doc, size_.load(std::memory_order_relaxed)));
  put(doc, scale);
  append_code(doc);
  size_.store(doc + 1, std::memory_order_release);
}

void Column::read(uint32_t doc, std::span<float> out) const {
  read_row(doc, out);
  for (float& x : out) x *= scales()[doc].scale;
}

float Column::similarity(uint32_t doc, const PreparedQuery& query) const {
  float dot = 0.0f;
  dot_rows(options_.storage, rows_.row(doc), 1, options_.padded_dim(), query.elements.data(), &dot);
  return finish_similarity(options_.metric, dot, scales()[doc], query.square);
}

void prepare_query(const ColumnOptions& options, std::span<const float> query, PreparedQuery& out) {
  prepare_query(options, query, norm(query), out);
}

void prepare_query(const ColumnOptions& options, std::span<const float> query, double length,
                   PreparedQuery& out) {
  out.elements.assign(options.padded_dim(), 0.0f);
  const double factor = options.metric == Metric::cosine ? 1.0 / length : 1.0;
  for (size_t i = 0; i < query.size(); ++i)
    out.elements[i] = static_cast<float>(static_cast<double>(query[i]) * factor);
  out.square = static_cast<float>(length * length);
}

}  // namespace scrubjay::vector
