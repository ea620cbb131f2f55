// The kernels compiled for the level avx2; the build sets this file's instruction set.
#include "simd/level.hpp"

namespace scrubjay::simd::avx2 {
#define SCRUBJAY_LEVEL_NAME "avx2"
#include "simd/kernels_impl.hpp"
}  // namespace scrubjay::simd::avx2
