// Row products: inner products of rows with a query or with each other, for each type of element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/kernels.hpp"
#include "vector/metric.hpp"

namespace scrubjay::vector {

template <class Element>
[[nodiscard]] const Element* elements_of(const void* row) noexcept {
  return static_cast<const Element*>(row);
}

// out[r] = <rows[r], query> for consecutive rows of n padded elements.
inline void dot_rows(Storage storage, const void* rows, size_t n_rows, size_t n, const float* query,
                     float* out) {
  const simd::Kernels& kernels = simd::kernels();
  switch (storage) {
    case Storage::f16:
      return kernels.dot_rows_f16(elements_of<uint16_t>(rows), n_rows, n, query, out);
    case Storage::f32:
      return kernels.dot_rows_f32(elements_of<float>(rows), n_rows, n, query, out);
    case Storage::i8:
      return kernels.dot_rows_i8(elements_of<int8_t>(rows), n_rows, n, query, out);
  }
}

// <a, b> of two rows.
[[nodiscard]] inline float dot_pair(Storage storage, const void* a, const void* b, size_t n) {
  const simd::Kernels& kernels = simd::kernels();
  switch (storage) {
    case Storage::f16:
      return kernels.dot_f16_f16(elements_of<uint16_t>(a), elements_of<uint16_t>(b), n);
    case Storage::f32:
      return kernels.dot_f32_f32(elements_of<float>(a), elements_of<float>(b), n);
    case Storage::i8:
      break;
  }
  return kernels.dot_i8_i8(elements_of<int8_t>(a), elements_of<int8_t>(b), n);
}

// Converts the first n elements of a row to floats.
inline void widen_row(Storage storage, const void* row, size_t n, float* out) {
  switch (storage) {
    case Storage::f16:
      return simd::kernels().from_f16(elements_of<uint16_t>(row), n, out);
    case Storage::f32:
      std::memcpy(out, row, n * sizeof(float));
      return;
    case Storage::i8:
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(elements_of<int8_t>(row)[i]);
      return;
  }
}

}  // namespace scrubjay::vector
