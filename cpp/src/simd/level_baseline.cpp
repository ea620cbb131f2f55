// The kernels compiled for the level baseline; the build sets this file's instruction set.
#include "simd/level.hpp"

namespace scrubjay::simd::baseline {
#define SCRUBJAY_LEVEL_NAME "baseline"
#include "simd/kernels_impl.hpp"
}  // namespace scrubjay::simd::baseline
