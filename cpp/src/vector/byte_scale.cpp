#include "vector/byte_scale.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "vector/block_exponent.hpp"

namespace scrubjay::vector {
namespace {

constexpr float kMostSteps = 127.0f;
constexpr int kLeastPower = -149;  // of a float

}  // namespace

float byte_step(std::span<const float> vector) noexcept {
  const float largest = largest_magnitude(vector);
  if (largest == 0.0f) return 1.0f;
  if (const float step = largest / kMostSteps; step >= std::numeric_limits<float>::min()) {
    const uint32_t rounded = (std::bit_cast<uint32_t>(step) + 0x8000u) & 0xffff0000u;
    return std::bit_cast<float>(rounded);
  }
  int exponent = 0;
  const double part = std::frexp(static_cast<double>(largest) / static_cast<double>(kMostSteps), &exponent);
  if (part == 0.5) --exponent;  // a power of two itself
  return std::ldexp(1.0f, std::max(exponent, kLeastPower));
}

void to_bytes(std::span<const float> vector, float step, int8_t* out) noexcept {
  constexpr float kRounding = 0x1.8p23f;  // adding it leaves no bits for a fraction
  for (size_t i = 0; i < vector.size(); ++i) {
    const float rounded = (vector[i] / step + kRounding) - kRounding;
    out[i] = static_cast<int8_t>(static_cast<int32_t>(rounded));
  }
}

}  // namespace scrubjay::vector
