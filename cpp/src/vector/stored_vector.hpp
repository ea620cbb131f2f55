// Stored vector: the bytes of a vector in a row of a store (the format is described in
// python/scrubjay/store/rows/vectors.py, which has the NumPy implementation). Half precision: an int16
// exponent e, then the elements of vector * 2^-e as halves, the largest in [0.5, 1]; e is that of the largest
// element, from -148 to 127. Single precision: the elements. Bytes: an int16 exponent of the step (exponent.hpp),
// then the elements in steps.
//
// Little-endian machines only, like all stored data.
#pragma once

#include <span>
#include <vector>

#include "vector/metric.hpp"

namespace scrubjay::vector {

// Returns the bytes, and stores in `vector` the value that they encode: the engine receives that value, so
// that a partition that was rebuilt from its rows equals one that was written to. The elements are finite.
[[nodiscard]] std::vector<char> store_vector(Storage storage, std::span<float> vector);

}  // namespace scrubjay::vector
