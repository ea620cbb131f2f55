#include "vector/signs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simd/kernels.hpp"
#include "vector/codes.hpp"

namespace scrubjay::vector {
namespace {

constexpr uint32_t kPlanesAtOnce = 2;
// Query elements are rounded to integers up to this: twice the sum of four of them fits into a byte.
constexpr float kQueryLimit = 31.0f;

// The highest bits of the codes of four elements in one half (0: the lower) of four bytes.
[[nodiscard]] uint32_t signs_of_four(const uint8_t* codes, uint32_t half) noexcept {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < 4; ++i) bits |= ((uint32_t{codes[i]} >> (4 * half + 3)) & 1u) << i;
  return bits;
}

}  // namespace

void prepare_sign_query(const CodeQuery& query, SignQuery& out) {
  const simd::Kernels& kernels = simd::kernels();
  const size_t n = query.rotated.size();
  const float largest = query.scale * 127.0f;
  out.elements.resize(n);
  (void)kernels.quantise(query.rotated.data(), n, kQueryLimit / largest, out.elements.data());
  out.tables.resize(n / 4 * 16);
  out.offset = kernels.sign_tables(out.elements.data(), n / 4, out.tables.data());
  out.scale = largest / kQueryLimit;
}

void Signs::follow(const Source& source, uint32_t changed, uint32_t n_docs) {
  const uint32_t n_laid = size_.load(std::memory_order_relaxed);
  if (n_laid == 0 && n_docs < kSignedDocs) return;
  const uint32_t first = std::min(n_laid, changed / kPlaneDocs * kPlaneDocs);
  const uint32_t end = std::min(n_docs / kPlaneDocs * kPlaneDocs, first + kPlanesAtOnce * kPlaneDocs);
  if (first < end) {
    factors_.reserve(end, first);
    errors_.reserve(end, first);
    for (uint32_t doc = first; doc < end; ++doc) measure(source, doc);
    for (uint32_t plane = first; plane < end; plane += kPlaneDocs) lay(source, plane);
  }
  size_.store(std::max(first, end), std::memory_order_release);
}

// A code represents its vector up to the step, t (2c - 15): so <h, s> is about t |2c - 15|_1, where <h, 2c -
// 15> is about t |2c - 15|^2.
void Signs::measure(const Source& source, uint32_t doc) {
  const CodeError code_error = source.errors[doc];
  factors_.data()[doc] = 0.0f;
  errors_.data()[doc] = code_error;
  if (!code_error.has_code() || !code_error.comparable()) return;
  const auto* code = reinterpret_cast<const uint8_t*>(source.codes.row(doc));
  uint32_t sum = 0, square = 0;
  for (uint32_t byte = 0; byte < 64 * n_blocks_; ++byte) {
    for (const int step : {2 * (code[byte] & 15) - 15, 2 * (code[byte] >> 4) - 15}) {
      sum += static_cast<uint32_t>(step < 0 ? -step : step);
      square += static_cast<uint32_t>(step * step);
    }
  }
  const double n_elements = kBlockDims * n_blocks_, code_factor = static_cast<double>(source.factors[doc]);
  const double factor = code_factor * square / sum;
  // The square of the code minus that of its error is the square of the unit of similarities.
  const double width = static_cast<double>(code_error.value());
  const double unit = kBlockDims * code_factor * code_factor * square - n_elements * width * width;
  const double variance = kBlockDims * factor * factor - unit / n_elements;
  factors_.data()[doc] = static_cast<float>(factor);
  errors_.data()[doc] = CodeError(static_cast<float>(std::sqrt(std::max(0.0, variance))));
}

void Signs::lay(const Source& source, uint32_t first) {
  const auto has_code = [&](uint32_t i) { return source.errors[first + i].has_code(); };
  uint32_t n_coded = 0;
  for (uint32_t i = 0; i < kPlaneDocs; ++i) n_coded += has_code(i) ? 1 : 0;
  if (n_coded == 0) return;
  (void)planes_.place(first + kPlaneDocs - 1, first);
  auto* plane = reinterpret_cast<uint8_t*>(planes_.place(first, first));
  std::memset(plane, 0, kPlaneDocs * planes_.row_bytes());
  for (uint32_t i = 0; i < kPlaneDocs; ++i) {
    if (!has_code(i)) continue;
    const auto* code = reinterpret_cast<const uint8_t*>(source.codes.row(first + i));
    uint8_t* out = plane + i % 16;
    const uint32_t shift = i < 16 ? 0 : 4;
    for (uint32_t block = 0; block < n_blocks_; ++block, code += 64) {
      for (uint32_t half = 0; half < 2; ++half) {
        for (uint32_t byte = 0; byte < 64; byte += 4, out += 16)
          *out = static_cast<uint8_t>(*out | (signs_of_four(code + byte, half) << shift));
      }
    }
  }
}

}  // namespace scrubjay::vector
