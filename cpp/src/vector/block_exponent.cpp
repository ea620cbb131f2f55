#include "vector/block_exponent.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace scrubjay::vector {
namespace {

constexpr int kLeastExponent = -148, kGreatestExponent = 127;
constexpr int kGreatestNormalExponent = 126;  // 2^e and 2^-e are normal floats

}  // namespace

float largest_magnitude(std::span<const float> row) noexcept {
  // Magnitudes are in the order of their bits, and compilers vectorise a maximum of integers.
  int32_t largest = 0;
  for (const float x : row) largest = std::max(largest, std::bit_cast<int32_t>(x) & 0x7fffffff);
  return std::bit_cast<float>(largest);
}

int block_exponent(std::span<const float> row) noexcept {
  int exponent = 0;
  (void)std::frexp(largest_magnitude(row), &exponent);
  return std::clamp(exponent, kLeastExponent, kGreatestExponent);
}

void multiply_by_power(std::span<const float> row, int exponent, float* out) noexcept {
  if (std::abs(exponent) <= kGreatestNormalExponent) {
    const float factor = std::ldexp(1.0f, exponent);
    for (size_t i = 0; i < row.size(); ++i) out[i] = row[i] * factor;
    return;
  }
  // Outside of the range of normal floats, in double precision, in which the product is exact.
  const double factor = std::ldexp(1.0, exponent);
  for (size_t i = 0; i < row.size(); ++i) out[i] = static_cast<float>(static_cast<double>(row[i]) * factor);
}

}  // namespace scrubjay::vector
