// The kernels themselves: included once per level inside that level's namespace. Nothing here may be an inline function
// of external linkage, nor call one: the linker would be free to use the copy compiled for the highest level everywhere.
// So no standard library, only builtins, and everything in an unnamed namespace.

namespace {

// One virtual width of 16 single floats at every level; the compiler lowers it to what the level has.
typedef float F32x16 __attribute__((vector_size(64)));
typedef unsigned U32x16 __attribute__((vector_size(64)));
typedef int I32x16 __attribute__((vector_size(64)));
typedef unsigned short U16x16 __attribute__((vector_size(32)));

template <class Vector>
inline Vector load(const void* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline F32x16 widen_f16(const unsigned short* from) {
#if defined(__AVX512F__)
  return (F32x16)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
  F32x16 value;
  const __m256 low = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  const __m256 high = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 8)));
  __builtin_memcpy(&value, &low, 32);
  __builtin_memcpy(reinterpret_cast<char*>(&value) + 32, &high, 32);
  return value;
#else
  // Shift sign, exponent and mantissa into place and multiply by 2^112 to correct the exponent's bias: exact for all
  // finite halves, subnormal ones included (Fabian Giesen's method). Infinities do not occur in the index.
  const U32x16 half = __builtin_convertvector(load<U16x16>(from), U32x16);
  const U32x16 bits = (half & 0x7fffu) << 13;
  const F32x16 magnitude = (F32x16)bits * 0x1p112f;
  return (F32x16)((U32x16)magnitude | ((half & 0x8000u) << 16));
#endif
}

inline F32x16 widen(const unsigned short* from) { return widen_f16(from); }
inline F32x16 widen(const float* from) { return load<F32x16>(from); }

// The order of these additions is part of the result: it is the same at every level.
inline float sum(F32x16 v) {
  float lanes[16];
  __builtin_memcpy(lanes, &v, sizeof(lanes));
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// Four accumulators hide the latency of the additions: element i goes to lane i % 64.
template <class First, class Second>
inline float dot(const First* a, const Second* b, size_t n_elements) {
  F32x16 sums[4] = {};
  size_t i = 0;
  for (; i + 64 <= n_elements; i += 64) {
    sums[0] += widen(a + i) * widen(b + i);
    sums[1] += widen(a + i + 16) * widen(b + i + 16);
    sums[2] += widen(a + i + 32) * widen(b + i + 32);
    sums[3] += widen(a + i + 48) * widen(b + i + 48);
  }
  for (int lane = 0; i < n_elements; i += 16, ++lane) sums[lane] += widen(a + i) * widen(b + i);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class Element>
inline void dot_rows(const Element* rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  for (size_t r = 0; r < n_rows; ++r) out[r] = dot(rows + r * n_elements, query, n_elements);
}

void dot_rows_f16(const uint16_t* rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  dot_rows(rows, n_rows, n_elements, query, out);
}
void dot_rows_f32(const float* rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  dot_rows(rows, n_rows, n_elements, query, out);
}

float dot_f16_f16(const uint16_t* a, const uint16_t* b, size_t n_elements) { return dot(a, b, n_elements); }
float dot_f32_f32(const float* a, const float* b, size_t n_elements) { return dot(a, b, n_elements); }

// Round to nearest even, overflow to infinity (Fabian Giesen's float_to_half_fast3_rtne, restated).
inline uint16_t narrow_f16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits >= 0x47800000u) return static_cast<uint16_t>(sign | (bits > 0x7f800000u ? 0x7e00u : 0x7c00u));
  if (bits < 0x38800000u) {  // subnormal half: let the addition of 0.5 align and round the mantissa
    float magnitude;
    __builtin_memcpy(&magnitude, &bits, sizeof(bits));
    magnitude += 0.5f;
    uint32_t rounded;
    __builtin_memcpy(&rounded, &magnitude, sizeof(rounded));
    return static_cast<uint16_t>(sign | (rounded - 0x3f000000u));
  }
  const uint32_t odd = (bits >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((bits - 0x38000000u + 0xfffu + odd) >> 13));
}

void to_f16(const float* from, size_t n, uint16_t* to) {
  for (size_t i = 0; i < n; ++i) to[i] = narrow_f16(from[i]);
}

void from_f16(const uint16_t* from, size_t n, float* to) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const F32x16 wide = widen_f16(from + i);
    __builtin_memcpy(to + i, &wide, sizeof(wide));
  }
  for (; i < n; ++i) {
    uint16_t padded[16] = {from[i]};
    const F32x16 wide = widen_f16(padded);
    to[i] = wide[0];
  }
}

}  // namespace

extern const Kernels kTable;
const Kernels kTable = {SCRUBJAY_LEVEL_NAME, dot_rows_f16, dot_rows_f32, dot_f16_f16, dot_f32_f32, to_f16, from_f16};
