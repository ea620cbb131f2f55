// Exponent: the scale of a stored row in 16 bits.
//
// Rows of floats have powers of two as scales, and their exponents are stored. The scale of a row of bytes has
// eight significant bits (byte_scale.hpp): (1 + m/128) 2^e is stored as 128 e + m, an exponent with a fraction of
// seven bits. A scale that is not a normal float is a power of two.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "vector/metric.hpp"

namespace scrubjay::vector {

inline constexpr uint32_t kByteFractionBits = 7;

[[nodiscard]] constexpr uint32_t exponent_fraction_bits(Storage storage) noexcept {
  return storage == Storage::i8 ? kByteFractionBits : 0;
}

[[nodiscard]] inline float scale_of_exponent(int exponent, uint32_t fraction_bits) noexcept {
  // The bits of a float, but for the bias of the exponent and the missing lower bits.
  const int shifted = exponent * (1 << (kByteFractionBits - fraction_bits));
  constexpr int kOne = 1 << kByteFractionBits;
  const uint32_t normal = static_cast<uint32_t>(shifted + 127 * kOne) << (23 - kByteFractionBits);
  const uint32_t subnormal = uint32_t{1} << ((shifted / kOne + 149) & 31);
  return std::bit_cast<float>(shifted >= -126 * kOne ? normal : subnormal);
}

[[nodiscard]] inline int16_t exponent_of_scale(float scale, uint32_t fraction_bits) noexcept {
  if (fraction_bits == 0 || scale < 0x1p-126f)
    return static_cast<int16_t>(std::ilogb(scale) * (1 << fraction_bits));
  return static_cast<int16_t>(static_cast<int>(std::bit_cast<uint32_t>(scale) >> (23 - fraction_bits)) -
                              (127 << fraction_bits));
}

}  // namespace scrubjay::vector
