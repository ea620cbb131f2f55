#include "vector/codes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "simd/kernels.hpp"
#include "vector/column.hpp"

namespace scrubjay::vector {
namespace {

// Beyond these lengths squares and products may leave single precision; such a vector is always scored.
constexpr double kShortest = 1e-15, kLongest = 1e15;

// One random sign per element (splitmix64; Steele, Lea and Flood 2014); must never change.
constexpr std::array<uint16_t, kMaxDim / 16> kSigns = [] {
  std::array<uint16_t, kMaxDim / 16> signs{};
  uint64_t state = 0x5c12b7a9;
  for (uint16_t& bits : signs) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    bits = static_cast<uint16_t>(mixed ^ (mixed >> 31));
  }
  return signs;
}();

// `vector` is padded with zeros to a multiple of 16; the rotated vector is sqrt(128) times as long. Returns
// its greatest magnitude.
[[nodiscard]] float rotate(std::span<const float> vector, uint32_t n_blocks, std::vector<float>& rotated) {
  rotated.resize(size_t{n_blocks} * kBlockDims);
  return simd::kernels().rotate(vector.data(), vector.size() / 16, kSigns.data(), n_blocks, rotated.data());
}

}  // namespace

Codes::Codes(const ColumnOptions& options)
    : metric_(options.metric),
      n_blocks_(n_code_blocks(options.dim)),
      rows_(code_bytes(options.dim)),
      signs_(has_signs(options.dim) ? std::make_unique<Signs>(n_blocks_) : nullptr) {}

void Codes::append(uint32_t doc, std::span<const float> row, const RowScale& scale) {
  const uint32_t n_used = size_.load(std::memory_order_relaxed);
  CodeScale code_scale;
  if (!row.empty()) code_scale = encode(row, scale, reinterpret_cast<uint8_t*>(rows_.place(doc, n_used)));
  const auto put = [&](auto& array, auto missing, auto value) {
    array.reserve(doc + 1, n_used);
    for (uint32_t i = n_used; i < doc; ++i) array.data()[i] = missing;
    array.data()[doc] = value;
  };
  put(factors_, CodeScale{}.factor, code_scale.factor);
  if (metric_ == Metric::l2) put(biases_, CodeScale{}.bias, code_scale.bias);
  put(errors_, CodeScale{}.error, code_scale.error);
  if (signs_) signs_->follow({rows_, factors_.data(), errors_.data()}, std::min(n_used, doc), doc + 1);
  size_.store(doc + 1, std::memory_order_release);
}

CodeScale Codes::encode(std::span<const float> row, const RowScale& scale, uint8_t* code) {
  const double row_length = norm(row);
  const double length = row_length * static_cast<double>(scale.scale);
  const float largest = rotate(row, n_blocks_, rotated_);
  uint32_t square = 0;
  const float along =
      simd::kernels().encode(rotated_.data(), n_blocks_, 7.5f / (0.9f * largest), code, &square);
  // For u: <h, 2c - 15> = along / row_length. If the rows are not normalised, neither is `along`.
  const double factor = row_length / static_cast<double>(along);
  const double variance =
      (kBlockDims * factor * factor * static_cast<double>(square) - 1.0) / (kBlockDims * n_blocks_);
  const double error = std::sqrt(std::max(0.0, variance));
  CodeScale out;
  const double unit = metric_ == Metric::cosine ? 1.0 : metric_ == Metric::l2 ? 2.0 * length : length;
  if (metric_ != Metric::cosine && !(length > kShortest && length < kLongest)) {
    out.error = CodeError(std::numeric_limits<float>::infinity());
    return out;
  }
  out.factor = static_cast<float>(unit * factor);
  out.error = CodeError(static_cast<float>(unit * error));
  out.bias = metric_ == Metric::l2 ? -static_cast<float>(length * length) : 0.0f;
  return out;
}

bool prepare_code_query(const ColumnOptions& options, std::span<const float> query, float square,
                        CodeQuery& out) {
  const double length = options.metric == Metric::cosine ? 1.0 : std::sqrt(static_cast<double>(square));
  if (!(length > kShortest && length < kLongest)) return false;
  const float largest = rotate(query, n_code_blocks(options.dim), out.rotated);
  out.elements.resize(out.rotated.size());
  out.offset = 15 * simd::kernels().quantise(out.rotated.data(), out.rotated.size(), 127.0f / largest,
                                             out.elements.data());
  out.scale = largest / 127.0f;
  out.length = static_cast<float>(length);
  out.shift = options.metric == Metric::l2 ? -square : 0.0f;
  return true;
}

float margin_for(double miss_probability) noexcept {
  const double p = std::clamp(miss_probability, 1e-12, 0.4);  // above zero, since errors may be infinite
  const double t = std::sqrt(-2.0 * std::log(p));
  return static_cast<float>(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                    (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
}

}  // namespace scrubjay::vector
