// Block exponent: the power of two by which a row is scaled, so that its largest element is in [0.5, 1). Stored
// rows (stored_vector.hpp) and rows in memory (column.hpp) have one each.
#pragma once

#include <span>

namespace scrubjay::vector {

// The greatest magnitude of finite elements; 0 of none.
[[nodiscard]] float largest_magnitude(std::span<const float> row) noexcept;

// The exponent of the largest element, from -148 to 127, so that 2^exponent is a float; 0 for a row of zeros.
// The elements are finite.
[[nodiscard]] int block_exponent(std::span<const float> row) noexcept;

// out[i] = row[i] * 2^exponent for -148 <= exponent <= 148, rounded once like by ldexp. `out` may be the row itself.
void multiply_by_power(std::span<const float> row, int exponent, float* out) noexcept;

}  // namespace scrubjay::vector
