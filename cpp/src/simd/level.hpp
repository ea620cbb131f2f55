// Included by every level file before the kernels: declarations and intrinsics only, no inline
// functions of ours.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"                // no vector crosses an object file
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <stddef.h>
#include <stdint.h>

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "simd/kernels.hpp"
