// Byte scale: the step of a vector whose elements are stored as signed bytes.
//
// A step has eight significant bits, so that its products with bytes are exact, and is about 1/127 of the
// largest element, which becomes 127 or -127. So encoding what was decoded gives the same bytes. A vector of
// which 1/127 is not a normal float has a power of two as its step: the least that is not below 1/127, and
// not below 2^-149, of which all floats are multiples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scrubjay::vector {

// Returns the step of a vector of finite elements; 1 if all are zero.
[[nodiscard]] float byte_step(std::span<const float> vector) noexcept;

// out[i] = vector[i] / step, rounded to the nearest, ties to even: from -127 to 127.
void to_bytes(std::span<const float> vector, float step, int8_t* out) noexcept;

}  // namespace scrubjay::vector
