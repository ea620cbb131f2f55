// Metrics: cosine, inner product, squared distance.
#pragma once

#include <cstdint>

namespace scrubjay::vector {

// Similarities grow with nearness: the cosine, the inner product, the negated squared Euclidean distance.
enum class Metric : uint8_t { cosine, inner_product, l2 };

// Storage format of the originals: half precision, single precision, signed bytes.
enum class Storage : uint8_t { f16, f32, i8 };

[[nodiscard]] constexpr uint32_t element_bytes(Storage storage) noexcept {
  return storage == Storage::f32 ? 4 : storage == Storage::f16 ? 2 : 1;
}

inline constexpr uint32_t kMaxDim = 4096;

}  // namespace scrubjay::vector
