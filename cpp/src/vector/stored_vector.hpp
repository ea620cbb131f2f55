// The bytes that the row of a store keeps of one vector (python/scrubjay/store/rows/vectors.py has the format, and the
// same in NumPy). Half precision: an int16 exponent e, then the elements of vector * 2^-e as halves, the largest
// in [0.5, 1]; e is that of the largest element, from -148 to 127. Single precision: the elements.
//
// Little-endian machines only, as everything that is stored.
#pragma once

#include <span>
#include <vector>

#include "vector/metric.hpp"

namespace scrubjay::vector {

// Returns the bytes, and leaves in `vector` what they encode: that is what an engine over rows is given, so that a
// partition that was rebuilt from its rows equals one that was written to. The elements are finite.
[[nodiscard]] std::vector<char> store_vector(Storage storage, std::span<float> vector);

}  // namespace scrubjay::vector
