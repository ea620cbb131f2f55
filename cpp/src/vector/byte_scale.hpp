// Byte scale: the step of a vector whose elements are stored as signed bytes.
//
// A step has eight significant bits, so that its products with bytes are exact, and is about 1/127 of the
// largest element, which becomes 127 or -127. So encoding what was decoded gives the same bytes. If 1/127 is
// not a normal float, the step is the next power of two, at least 2^-149: all floats are multiples of that one.
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
