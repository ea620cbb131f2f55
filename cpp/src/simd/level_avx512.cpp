// The kernels compiled for the level avx512; the build sets this file's instruction set.
#include "simd/level.hpp"

namespace scrubjay::simd::avx512 {
#define SCRUBJAY_LEVEL_NAME "avx512"
#include "simd/kernels_impl.hpp"
}  // namespace scrubjay::simd::avx512
