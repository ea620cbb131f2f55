// Code scale: turns the product of a query and a code into a similarity, with a bound on its error.
#pragma once

#include <bit>
#include <cstdint>

namespace scrubjay::vector {

// An error in two bytes, the upper half of a float, rounded up: never less than given, and at most one
// percent greater. Minus infinity: no vector, below every bound. Infinity: above every bound, always scored.
struct CodeError {
  uint16_t bits = 0xff80;

  CodeError() = default;
  explicit CodeError(float error) noexcept
      : bits(static_cast<uint16_t>((std::bit_cast<uint32_t>(error) + 0xffffu) >> 16)) {}
  [[nodiscard]] float value() const noexcept { return std::bit_cast<float>(uint32_t{bits} << 16); }
  [[nodiscard]] bool has_code() const noexcept { return bits != CodeError().bits; }
  // Whether there is a code with a meaningful estimate.
  [[nodiscard]] bool comparable() const noexcept { return bits < 0x7f80; }
};

// estimate = factor * <q, u> + bias, with the error in that unit.
struct CodeScale {
  float factor = 0.0f;
  float bias = 0.0f;  // l2: -|u|^2 of the stored vector; otherwise zero
  CodeError error;
};

}  // namespace scrubjay::vector
