// The kernels, included once per level inside that level's namespace. Nothing here may be an inline function
// of external linkage or call one: the linker could then use the copy compiled for the highest level
// everywhere. Hence no standard library, only builtins, and everything is in an unnamed namespace.

namespace {

#include "simd/lanes.hpp"

inline F32x16 widen_f16(const unsigned short* from) {
#if defined(__AVX512F__)
  return (F32x16)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__AVX2__)
  return {(F32x8)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))),
          (F32x8)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 8)))};
#else
  // Shift sign, exponent and mantissa into place and multiply by 2^112 to correct the exponent's bias:
  // exact for all finite halves, including subnormal ones (Fabian Giesen's method). Infinities do not occur
  // in the index.
  uint32_t wide[16];
  for (int lane = 0; lane < 16; ++lane) wide[lane] = from[lane];
  const U32x16 half = load<U32x16>(wide);
  const F32x16 magnitude = as<F32x16>((half & all<U32x16>(0x7fffu)) << 13) * all<F32x16>(0x1p112f);
  return as<F32x16>(as<U32x16>(magnitude) | ((half & all<U32x16>(0x8000u)) << 16));
#endif
}

// Floats whose lower half is zero.
inline F32x16 widen_upper_halves(const unsigned short* from) {
#if defined(__AVX512F__)
  return (F32x16)_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))), 16);
#elif defined(__AVX2__)
  const auto half = [&](const unsigned short* eight) {
    return (F32x8)_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(eight))), 16);
  };
  return {half(from), half(from + 8)};
#else
  uint32_t wide[16];
  for (int lane = 0; lane < 16; ++lane) wide[lane] = static_cast<uint32_t>(from[lane]) << 16;
  return load<F32x16>(wide);
#endif
}

// Converts signed bytes to floats.
inline F32x16 widen_i8(const int8_t* from) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return (F32x16)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#elif defined(__AVX2__)
  const auto half = [](const int8_t* eight) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(eight));
    return (F32x8)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  };
  return {half(from), half(from + 8)};
#else
  float wide[16];
  for (int lane = 0; lane < 16; ++lane) wide[lane] = static_cast<float>(from[lane]);
  return load<F32x16>(wide);
#endif
}

inline F32x16 widen(const unsigned short* from) { return widen_f16(from); }
inline F32x16 widen(const int8_t* from) { return widen_i8(from); }
inline F32x16 widen(const float* from) { return load<F32x16>(from); }

// Four accumulators hide the latency of the additions: element i is added to lane i % 64, and these lanes to
// lane i % 16.
template <class First, class Second>
inline F32x16 dot_lanes(const First* a, const Second* b, size_t n_elements) {
  F32x16 sums[4] = {};
  const auto add = [&](F32x16& lanes, size_t i) { lanes = lanes + widen(a + i) * widen(b + i); };
  size_t i = 0;
  for (; i + 64 <= n_elements; i += 64) {
    add(sums[0], i);
    add(sums[1], i + 16);
    add(sums[2], i + 32);
    add(sums[3], i + 48);
  }
  // Not a loop: an index known only at run time would keep the sums in memory.
  if (i < n_elements) add(sums[0], i);
  if (i + 16 < n_elements) add(sums[1], i + 16);
  if (i + 32 < n_elements) add(sums[2], i + 32);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class First, class Second>
inline float dot(const First* a, const Second* b, size_t n_elements) {
  return sum(dot_lanes(a, b, n_elements));
}

// Four rows share the last additions, which are those of dot() and sum(), and with AVX-512 also the loads of
// the query.
#if defined(__AVX512F__)
// Sums have individual names: GCC 12 would clear an array of them and keep it in memory, which takes as long
// as the products.
template <class Rows>
inline void dot_four_rows(Rows rows, size_t first, size_t n_elements, const float* query, float* out) {
  const auto *row0 = rows[first], *row1 = rows[first + 1], *row2 = rows[first + 2], *row3 = rows[first + 3];
  F32x16 a0 = {}, a1 = {}, a2 = {}, a3 = {}, b0 = {}, b1 = {}, b2 = {}, b3 = {};
  F32x16 c0 = {}, c1 = {}, c2 = {}, c3 = {}, d0 = {}, d1 = {}, d2 = {}, d3 = {};
  const auto add = [&](F32x16& sum0, F32x16& sum1, F32x16& sum2, F32x16& sum3, size_t i) {
    const F32x16 of_query = widen(query + i);
    sum0 = sum0 + widen(row0 + i) * of_query;
    sum1 = sum1 + widen(row1 + i) * of_query;
    sum2 = sum2 + widen(row2 + i) * of_query;
    sum3 = sum3 + widen(row3 + i) * of_query;
  };
  size_t i = 0;
  for (; i + 64 <= n_elements; i += 64) {
    add(a0, a1, a2, a3, i);
    add(b0, b1, b2, b3, i + 16);
    add(c0, c1, c2, c3, i + 32);
    add(d0, d1, d2, d3, i + 48);
  }
  if (i < n_elements) add(a0, a1, a2, a3, i);
  if (i + 16 < n_elements) add(b0, b1, b2, b3, i + 16);
  if (i + 32 < n_elements) add(c0, c1, c2, c3, i + 32);
  const auto rest = [](F32x16 a, F32x16 b, F32x16 c, F32x16 d) { return (__m512)((a + b) + (c + d)); };
  // Adds lane i and lane i + 8, then + 4 with all rows in quarters, then + 2, then + 1.
  const auto eights = [](__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  };
  const __m512 low = eights(rest(a0, b0, c0, d0), rest(a1, b1, c1, d1));
  const __m512 high = eights(rest(a2, b2, c2, d2), rest(a3, b3, c3, d3));
  const __m512 fours =
      _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
  const __m512 twos = _mm512_add_ps(fours, _mm512_permute_ps(fours, 0x4e));
  const __m512 ones = _mm512_add_ps(twos, _mm512_permute_ps(twos, 0xb1));
  const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm_storeu_ps(out + first, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, ones)));
}
#elif defined(__AVX2__)
template <class Rows>
inline void dot_four_rows(Rows rows, size_t first, size_t n_elements, const float* query, float* out) {
  __m256 rest[4];
  for (size_t r = 0; r < 4; ++r) {
    const F32x16 lanes = dot_lanes(rows[first + r], query, n_elements);
    rest[r] = (__m256)(lanes.low + lanes.high);
  }
  // Adds lane i and lane i + 4 of two rows in halves, then + 2 of all four rows, then + 1.
  const auto fours = [](__m256 a, __m256 b) {
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  };
  const __m256 even = fours(rest[0], rest[1]), odd = fours(rest[2], rest[3]);
  const __m256 twos = _mm256_add_ps(_mm256_shuffle_ps(even, odd, 0x44), _mm256_shuffle_ps(even, odd, 0xee));
  const __m256 ones = _mm256_add_ps(twos, _mm256_permute_ps(twos, 0xb1));
  const __m128 of_even = _mm256_castps256_ps128(ones), of_odd = _mm256_extractf128_ps(ones, 1);
  _mm_storeu_ps(out + first, _mm_blend_ps(of_even, of_odd, 0xa));
}
#endif

template <class Rows>
inline void dot_all_rows(Rows rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  size_t r = 0;
#if defined(__AVX2__)
  for (; r + 4 <= n_rows; r += 4) dot_four_rows(rows, r, n_elements, query, out);
#endif
  for (; r < n_rows; ++r) out[r] = dot(rows[r], query, n_elements);
}

template <class Element>
struct VectorsInOrder {
  const Element* first;
  size_t step;
  const Element* operator[](size_t row) const { return first + row * step; }
};

void dot_rows_f16(const uint16_t* rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  dot_all_rows(VectorsInOrder<uint16_t>{rows, n_elements}, n_rows, n_elements, query, out);
}
void dot_rows_f32(const float* rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  dot_all_rows(VectorsInOrder<float>{rows, n_elements}, n_rows, n_elements, query, out);
}
void dot_rows_i8(const int8_t* rows, size_t n_rows, size_t n_elements, const float* query, float* out) {
  dot_all_rows(VectorsInOrder<int8_t>{rows, n_elements}, n_rows, n_elements, query, out);
}
void dot_picked_rows_f16(const uint16_t* const* rows, size_t n_rows, size_t n_elements, const float* query,
                         float* out) {
  dot_all_rows(rows, n_rows, n_elements, query, out);
}
void dot_picked_rows_f32(const float* const* rows, size_t n_rows, size_t n_elements, const float* query,
                         float* out) {
  dot_all_rows(rows, n_rows, n_elements, query, out);
}
void dot_picked_rows_i8(const int8_t* const* rows, size_t n_rows, size_t n_elements, const float* query,
                        float* out) {
  dot_all_rows(rows, n_rows, n_elements, query, out);
}

float dot_f16_f16(const uint16_t* a, const uint16_t* b, size_t n_elements) { return dot(a, b, n_elements); }
float dot_f32_f32(const float* a, const float* b, size_t n_elements) { return dot(a, b, n_elements); }
float dot_i8_i8(const int8_t* a, const int8_t* b, size_t n_elements) { return dot(a, b, n_elements); }

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
  size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) to[i] = narrow_f16(from[i]);
}

void from_f16(const uint16_t* from, size_t n, float* to) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const F32x16 wide = widen_f16(from + i);
    store(to + i, wide);
  }
  for (; i < n; ++i) {
    uint16_t padded[16] = {from[i]};
    float wide[16];
    store(wide, widen_f16(padded));
    to[i] = wide[0];
  }
}

// rint(weight * tf / (tf + norm)), at least 1, for 16 norms. Adding and subtracting 2^23 rounds smaller
// numbers to the nearest integer, ties to even; greater numbers are integers already.
inline U32x16 contributions(float weight, F32x16 tf, F32x16 norm) {
  const F32x16 exact = (all<F32x16>(weight) * tf) / (tf + norm), big = all<F32x16>(0x1p23f);
  const F32x16 fixed = select(exact < big, (exact + big) - big, exact);
  return as<U32x16>(greater(convert<I32x16>(fixed), all<I32x16>(1)));
}
// The same for one norm.
inline uint32_t contribution(float weight, float tf, float norm) {
  const float exact = (weight * tf) / (tf + norm);
  const auto whole = static_cast<int32_t>(exact < 0x1p23f ? (exact + 0x1p23f) - 0x1p23f : exact);
  return static_cast<uint32_t>(whole > 1 ? whole : 1);
}

void fill_impacts(float weight, uint32_t count, const float* norms, uint32_t first_tf, uint32_t last_tf,
                  uint32_t first_length, uint32_t last_length, uint32_t* table) {
  for (uint32_t tf = first_tf; tf <= last_tf; ++tf) {
    const auto frequency = all<F32x16>(static_cast<float>(tf));
    for (uint32_t length = first_length; length <= last_length; length += 16) {
      store(table + ((tf << 11) + length),
            contributions(weight, frequency, load<F32x16>(norms + length)) * all<U32x16>(count));
    }
  }
}

void accumulate(const uint16_t* offsets, const uint16_t* payloads, size_t n, const uint32_t* table,
                uint32_t* sums) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {  // four at a time: the loads of one need not wait for the stores of another
    uint64_t at, payload;       // for all four by one load, since loads are the bottleneck
    __builtin_memcpy(&at, offsets + i, sizeof(at));
    __builtin_memcpy(&payload, payloads + i, sizeof(payload));
    const uint32_t a = table[payload & 0xffff], b = table[(payload >> 16) & 0xffff];
    const uint32_t c = table[(payload >> 32) & 0xffff], d = table[payload >> 48];
    sums[at & 0xffff] += a;
    sums[(at >> 16) & 0xffff] += b;
    sums[(at >> 32) & 0xffff] += c;
    sums[at >> 48] += d;
  }
  for (; i < n; ++i) sums[offsets[i]] += table[payloads[i]];
}

// The term frequencies of 16 payloads.
inline F32x16 frequencies_of(const uint16_t* payloads) {
#if defined(__AVX512F__)
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(payloads)));
  return (F32x16)_mm512_cvtepi32_ps(_mm512_srli_epi32(wide, 11));
#elif defined(__AVX2__)
  const auto eight = [&](size_t at) {
    const __m256i wide =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(payloads + at)));
    return (F32x8)_mm256_cvtepi32_ps(_mm256_srli_epi32(wide, 11));
  };
  return {eight(0), eight(8)};
#else
  float frequencies[16];
  for (size_t lane = 0; lane < 16; ++lane) frequencies[lane] = static_cast<float>(payloads[lane] >> 11);
  return load<F32x16>(frequencies);
#endif
}

// In rounds of several passes, so that numbers stored one by one have reached the cache before they are
// loaded as vectors.
void accumulate_directly(const uint16_t* offsets, const uint16_t* payloads, size_t n, float weight,
                         uint32_t count, const float* norms, uint32_t* sums) {
  constexpr size_t kRound = 128;
  float lengths[kRound];
  uint32_t impacts[kRound];
  const auto counts = all<U32x16>(count);
  for (size_t begin = 0; begin < n; begin += kRound) {
    const size_t n_some = n - begin < kRound ? n - begin : kRound;
    const uint16_t *some = payloads + begin, *at = offsets + begin;
    size_t i = 0;
    for (; i + 4 <= n_some; i += 4) {
      uint64_t four;
      __builtin_memcpy(&four, some + i, sizeof(four));
      lengths[i] = norms[four & 0x7ff];
      lengths[i + 1] = norms[(four >> 16) & 0x7ff];
      lengths[i + 2] = norms[(four >> 32) & 0x7ff];
      lengths[i + 3] = norms[(four >> 48) & 0x7ff];
    }
    for (; i < n_some; ++i) lengths[i] = norms[some[i] & 0x7ff];
    const auto fill = [&](size_t from) {
      store(impacts + from,
            contributions(weight, frequencies_of(some + from), load<F32x16>(lengths + from)) * counts);
    };
    for (i = 0; i + 16 <= n_some; i += 16) fill(i);
    if (n_some < 8) {
      for (; i < n_some; ++i)
        impacts[i] = contribution(weight, static_cast<float>(some[i] >> 11), lengths[i]) * count;
    } else if (n_some < 16) {
      float frequencies[16];
      for (; i < n_some; ++i) frequencies[i] = static_cast<float>(some[i] >> 11);
      for (; i < 16; ++i) frequencies[i] = lengths[i] = 1.0f;
      store(impacts, contributions(weight, load<F32x16>(frequencies), load<F32x16>(lengths)) * counts);
    } else if (i < n_some) {
      fill(n_some - 16);  // overlapping earlier ones
    }
    for (i = 0; i + 4 <= n_some; i += 4) {
      uint64_t four;
      __builtin_memcpy(&four, at + i, sizeof(four));
      const uint32_t a = impacts[i], b = impacts[i + 1], c = impacts[i + 2], d = impacts[i + 3];
      sums[four & 0xffff] += a;
      sums[(four >> 16) & 0xffff] += b;
      sums[(four >> 32) & 0xffff] += c;
      sums[four >> 48] += d;
    }
    for (; i < n_some; ++i) sums[at[i]] += impacts[i];
  }
}

// One lane of `group` consecutive vectors is a group, so no horizontal maximum is needed. Four maxima at
// once, since each depends on its predecessor.
size_t group_maxima(const uint32_t* sums, size_t n, size_t group, uint32_t* maxima) {
  size_t n_groups = 0;
  for (size_t begin = 0; begin < n; begin += 16 * group) {
    const size_t end = begin + 16 * group < n ? begin + 16 * group : n;
    I32x16 most[4] = {};
    size_t i = begin;
    for (; i + 64 <= end; i += 64) {
      for (size_t j = 0; j < 4; ++j) most[j] = greater(load<I32x16>(sums + i + 16 * j), most[j]);
    }
    for (; i < end; i += 16) most[0] = greater(load<I32x16>(sums + i), most[0]);
    store(maxima + n_groups, greater(greater(most[0], most[1]), greater(most[2], most[3])));
    n_groups += 16;
  }
  return n_groups;
}

#if defined(__AVX512F__)
// The 16 bits of a mask. GCC 12 may spill a mask as 16 bits and read back 32, assuming the rest to be zero;
// passing it through a general register avoids reading neighbouring stack bytes.
inline unsigned bits_of(__mmask16 mask) {
  unsigned short bits = mask;
  __asm__("" : "+r"(bits));
  return bits;
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
// The lanes of the set bits of a byte, ascending, followed by unspecified ones. AVX-512 has a compress
// instruction instead.
struct SetLanes {
  unsigned char of[256][8];
};
alignas(64) constexpr SetLanes kSetLanes = [] {
  SetLanes lanes{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    for (unsigned lane = 0, n = 0; lane < 8; ++lane) {
      if ((bits >> lane & 1u) != 0) lanes.of[bits][n++] = static_cast<unsigned char>(lane);
    }
  }
  return lanes;
}();
inline __m256i set_lanes(unsigned bits) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kSetLanes.of[bits])));
}
inline __m256i eight_at(const uint32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline void put_eight(uint32_t* to, __m256i lanes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), lanes);
}
inline unsigned eight_above(__m256i values, __m256i limit) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(values, limit))));
}
inline bool any_above(const __m256i* four, __m256i limit) {
  const __m256i most =
      _mm256_max_epi32(_mm256_max_epi32(four[0], four[1]), _mm256_max_epi32(four[2], four[3]));
  return eight_above(most, limit) != 0;
}
#endif

// One bit for each of 16 sums: whether it is above the threshold. Sums and thresholds are below 2^31.
inline unsigned above(const uint32_t* sums, uint32_t threshold) {
#if defined(__AVX512F__)
  return bits_of(
      _mm512_cmpgt_epu32_mask(_mm512_loadu_si512(sums), _mm512_set1_epi32(static_cast<int>(threshold))));
#elif defined(__AVX2__)
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(threshold));
  const __m256i low = _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums)), limit);
  const __m256i high =
      _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + 8)), limit);
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(low))) |
         (static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(high))) << 8);
#else
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 16; ++lane) bits |= static_cast<unsigned>(sums[lane] > threshold) << lane;
  return bits;
#endif
}

size_t harvest(uint32_t* sums, size_t n, uint32_t threshold, uint32_t* positions, uint32_t* scores) {
  size_t n_found = 0;
  const U32x16 zero = {};
#if defined(__AVX512F__)
  // If candidates are rare, process four vectors per branch; otherwise the branch would be unpredictable, and
  // branchless code is faster. The density of the previous stretch decides.
  constexpr size_t kStretch = 1024, kNotRare = 4;
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(threshold));
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto take = [&](__m512i sum, size_t at) {
    const __mmask16 bits = _mm512_cmpgt_epu32_mask(sum, limit);
    const __m512i position = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(at)));
    _mm512_storeu_si512(positions + n_found, _mm512_maskz_compress_epi32(bits, position));
    _mm512_storeu_si512(scores + n_found, _mm512_maskz_compress_epi32(bits, sum));
    n_found += static_cast<size_t>(__builtin_popcount(bits_of(bits)));
  };
  size_t i = 0;
  for (size_t n_before = 0, n_in_stretch = 0; i + 64 <= n;) {
    const size_t end = i + kStretch < n ? i + kStretch : n;
    const bool rare = n_in_stretch < kNotRare;
    for (; i + 64 <= end; i += 64) {
      const __m512i sum[4] = {_mm512_loadu_si512(sums + i), _mm512_loadu_si512(sums + i + 16),
                              _mm512_loadu_si512(sums + i + 32), _mm512_loadu_si512(sums + i + 48)};
      for (size_t j = 0; j < 64; j += 16) store(sums + i + j, zero);
      if (rare) {
        const __m512i greatest =
            _mm512_max_epu32(_mm512_max_epu32(sum[0], sum[1]), _mm512_max_epu32(sum[2], sum[3]));
        if (bits_of(_mm512_cmpgt_epu32_mask(greatest, limit)) == 0) continue;
      }
      for (size_t j = 0; j < 4; ++j) take(sum[j], i + 16 * j);
    }
    n_in_stretch = n_found - n_before;
    n_before = n_found;
  }
#elif defined(__AVX2__)
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(threshold));
  const auto take = [&](__m256i sum, size_t at) {
    const unsigned bits = eight_above(sum, limit);
    const __m256i lanes = set_lanes(bits);
    put_eight(positions + n_found, _mm256_add_epi32(lanes, _mm256_set1_epi32(static_cast<int>(at))));
    put_eight(scores + n_found, _mm256_permutevar8x32_epi32(sum, lanes));
    n_found += static_cast<size_t>(__builtin_popcount(bits));
  };
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {  // usually no sum is above
    const __m256i four[4] = {eight_at(sums + i), eight_at(sums + i + 8), eight_at(sums + i + 16),
                             eight_at(sums + i + 24)};
    store(sums + i, zero);
    store(sums + i + 16, zero);
    if (!any_above(four, limit)) continue;
    for (size_t j = 0; j < 4; ++j) take(four[j], i + 8 * j);
  }
  for (; i < n; i += 8) {
    const __m256i sum = eight_at(sums + i);
    put_eight(sums + i, _mm256_setzero_si256());
    take(sum, i);
  }
#else
  size_t i = 0;
#endif
  for (; i < n; i += 16) {
    for (unsigned bits = above(sums + i, threshold); bits != 0; bits &= bits - 1) {
      const size_t at = i + static_cast<size_t>(__builtin_ctz(bits));
      positions[n_found] = static_cast<uint32_t>(at);
      scores[n_found++] = sums[at];
    }
    store(sums + i, zero);
  }
  return n_found;
}

// Eight candidates at once: branchless bisections whose loads are independent.
size_t complete(const uint16_t* offsets, const uint16_t* payloads, uint32_t n, float weight, uint32_t count,
                const float* norms, uint32_t rest, uint32_t threshold, uint32_t* positions, uint32_t* scores,
                size_t n_candidates) {
  constexpr size_t kTogether = 8;
  size_t n_kept = 0;
  for (size_t i = 0; i < n_candidates; i += kTogether) {
    const size_t n_some = n_candidates - i < kTogether ? n_candidates - i : kTogether;
    uint32_t wanted[kTogether], some_scores[kTogether], at[kTogether];
    for (size_t c = 0; c < kTogether; ++c) {
      wanted[c] = positions[c < n_some ? i + c : i];
      some_scores[c] = scores[c < n_some ? i + c : i];
      at[c] = 0;
    }
    // Invariant: the last offset <= wanted, if it exists, is in [at, at + left).
    for (uint32_t left = n; left > 1;) {
      const uint32_t half = left / 2;
      for (size_t c = 0; c < kTogether; ++c) at[c] += offsets[at[c] + half] <= wanted[c] ? half : 0;
      left -= half;
    }
    for (size_t c = 0; c < n_some; ++c) {
      uint32_t score = some_scores[c];
      if (n != 0 && offsets[at[c]] == wanted[c]) {
        const uint32_t payload = payloads[at[c]];
        score += contribution(weight, static_cast<float>(payload >> 11), norms[payload & 0x7ffu]) * count;
      }
      positions[n_kept] = wanted[c];
      scores[n_kept] = score;
      n_kept += score + rest > threshold ? 1 : 0;
    }
  }
  return n_kept;
}

#include "simd/kernels_checksum.hpp"
#include "simd/kernels_codes.hpp"
#include "simd/kernels_filter.hpp"
#include "simd/kernels_letters.hpp"
#include "simd/kernels_ranked.hpp"
#include "simd/kernels_selection.hpp"
#include "simd/kernels_signs.hpp"
#include "simd/kernels_words.hpp"
#if defined(__AVX512F__)
#include "simd/kernels_gathers.hpp"
#endif
#include "simd/pooling_impl.hpp"

constexpr Kernels kKernels = {
    .level = SCRUBJAY_LEVEL_NAME,
    .dot_rows_f16 = dot_rows_f16,
    .dot_rows_f32 = dot_rows_f32,
    .dot_rows_i8 = dot_rows_i8,
    .dot_picked_rows_f16 = dot_picked_rows_f16,
    .dot_picked_rows_f32 = dot_picked_rows_f32,
    .dot_picked_rows_i8 = dot_picked_rows_i8,
    .dot_f16_f16 = dot_f16_f16,
    .dot_f32_f32 = dot_f32_f32,
    .dot_i8_i8 = dot_i8_i8,
    .fill_impacts = fill_impacts,
    .accumulate = accumulate,
    .accumulate_directly = accumulate_directly,
    .group_maxima = group_maxima,
    .harvest = harvest,
    .harvest_listed = harvest_listed,
    .complete = complete,
    .complete_ranked = complete_ranked,
    .kth_greatest = kth_greatest,
    .count_greater = count_greater,
    .keep_above = keep_above,
    .hide = hide,
    .complement = complement,
    .match_codes = match_codes,
    .match_between = match_between,
    .match_code_set = match_code_set,
    .match_range = match_range,
    .to_f16 = to_f16,
    .from_f16 = from_f16,
    .rotate = rotate,
    .quantise = quantise,
    .encode = encode,
    .dot_codes = dot_codes,
    .dot_picked_codes = dot_picked_codes,
    .dot_code_pair = dot_code_pair,
    .bound_codes = bound_codes,
    .sign_tables = sign_tables,
    .sum_signs = sum_signs,
    .select_above = select_above,
    .sum_rows_f16 = sum_rows_f16,
    .sum_rows_f32 = sum_rows_f32,
    .sum_rows_i8 = sum_rows_i8,
    .checksum = checksum,
    .mark_letters = mark_letters,
    .few_others = few_others,
    .near_beginnings = near_beginnings,
};

}  // namespace

extern const Kernels kTable;
const Kernels kTable = kKernels;
#if defined(__AVX512F__)
extern const Kernels kGatheringTable;
const Kernels kGatheringTable = with_gathers(kKernels);
#endif
