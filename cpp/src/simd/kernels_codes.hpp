// The kernels of vector codes (vector/codes.hpp): included by kernels_impl.hpp, in its unnamed namespace and
// under its rules. Sums of products of codes are whole numbers, so every level gives the same ones.

inline constexpr size_t kBlockDims = 128;  // elements of a block: one cache line of four-bit codes

// Lane i of the bits says whether element i changes its sign.
inline F32x16 with_signs(F32x16 values, unsigned bits) {
  const U32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return (F32x16)((U32x16)values ^ (((U32x16{} + bits) >> lanes) << 31));
}

inline F32x16 magnitude_of(F32x16 values) { return (F32x16)((U32x16)values & 0x7fffffffu); }

// Lane by lane, then over the lanes.
inline float greatest(F32x16 values) {
  float lanes[16];
  __builtin_memcpy(lanes, &values, sizeof(lanes));
  float most = lanes[0];
  for (int i = 1; i < 16; ++i) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

float rotate(const float* vector, size_t n_groups, const uint16_t* signs, size_t n_blocks, float* values) {
  for (size_t place = 0, group = 0; place < 8; ++place) {
    for (size_t block = 0; block < n_blocks; ++block, ++group) {
      F32x16 dealt = {};
      if (group < n_groups) dealt = with_signs(load<F32x16>(vector + 16 * group), signs[group]);
      __builtin_memcpy(values + kBlockDims * block + 16 * place, &dealt, sizeof(dealt));
    }
  }
  F32x16 most = {};
  for (size_t block = 0; block < n_blocks; ++block, values += kBlockDims) {
    F32x16 v[8];
    __builtin_memcpy(v, values, sizeof(v));
    for (size_t h = 1; h < 8; h *= 2) {
      for (size_t i = 0; i < 8; ++i) {
        if (i & h) continue;
        const F32x16 sum = v[i] + v[i + h], difference = v[i] - v[i + h];
        v[i] = sum;
        v[i + h] = difference;
      }
    }
#if defined(__AVX512F__)
    // Lane i meets lane i ^ h: the sum in the lower of the two, the difference in the upper.
    for (size_t i = 0; i < 8; ++i) {
      __m512 a = (__m512)v[i];
      __m512 b = _mm512_shuffle_f32x4(a, a, 0x4e);
      a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xff00, b, a);
      b = _mm512_shuffle_f32x4(a, a, 0xb1);
      a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xf0f0, b, a);
      b = _mm512_permute_ps(a, 0x4e);
      a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xcccc, b, a);
      b = _mm512_permute_ps(a, 0xb1);
      a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xaaaa, b, a);
      v[i] = (F32x16)a;
    }
    __builtin_memcpy(values, v, sizeof(v));
    for (const F32x16& value : v) most = magnitude_of(value) > most ? magnitude_of(value) : most;
#else
    __builtin_memcpy(values, v, sizeof(v));
    for (size_t h = 8; h >= 1; h /= 2) {
      for (size_t i = 0; i < kBlockDims; i += 2 * h) {
        for (size_t j = i; j < i + h; ++j) {
          const float sum = values[j] + values[j + h], difference = values[j] - values[j + h];
          values[j] = sum;
          values[j + h] = difference;
        }
      }
    }
    for (size_t i = 0; i < kBlockDims; i += 16) {
      const F32x16 value = magnitude_of(load<F32x16>(values + i));
      most = value > most ? value : most;
    }
#endif
  }
  return greatest(most);
}

typedef signed char I8x16 __attribute__((vector_size(16)));

int32_t quantise(const float* values, size_t n, float per_step, int8_t* out) {
  I32x16 total = {};
  for (size_t i = 0; i < n; i += 16) {
    const F32x16 exact = load<F32x16>(values + i) * per_step;
    const F32x16 half = (F32x16)(((U32x16)exact & 0x80000000u) | (U32x16)(F32x16{} + 0.5f));
    const I32x16 whole = __builtin_convertvector(exact + half, I32x16);
    total += whole;
    const I8x16 bytes = __builtin_convertvector(whole, I8x16);
    __builtin_memcpy(out + i, &bytes, sizeof(bytes));
  }
  int32_t sum = 0;
  for (int lane = 0; lane < 16; ++lane) sum += total[lane];
  return sum;
}

typedef unsigned char U8x16 __attribute__((vector_size(16)));

float encode(const float* values, size_t n_blocks, float per_step, uint8_t* codes, uint32_t* square) {
  F32x16 along = {};
  U32x16 squares = {};
  for (size_t block = 0; block < n_blocks; ++block, values += kBlockDims, codes += kBlockDims / 2) {
    U32x16 halves[2][4];
    for (size_t i = 0; i < 8; ++i) {
      const F32x16 value = load<F32x16>(values + 16 * i);
      F32x16 step = value * per_step + 8.0f;
      step = step < 0.0f ? F32x16{} : step;
      step = step > 15.0f ? F32x16{} + 15.0f : step;
      const I32x16 code = __builtin_convertvector(step, I32x16);
      const I32x16 centred = code + code - 15;
      along += value * __builtin_convertvector(centred, F32x16);
      squares += (U32x16)(centred * centred);
      halves[i / 4][i % 4] = (U32x16)code;
    }
    for (size_t i = 0; i < 4; ++i) {
      const U8x16 bytes = __builtin_convertvector(halves[0][i] | (halves[1][i] << 4), U8x16);
      __builtin_memcpy(codes + 16 * i, &bytes, sizeof(bytes));
    }
  }
  uint32_t total = 0;
  for (size_t lane = 0; lane < 16; ++lane) total += squares[lane];
  *square = total;
  return sum(along);
}

#if defined(__AVX512F__)
// Halves are taken by narrower loads: GCC 12 warns about its own _mm512_reduce_add_epi32.
inline int32_t lane_sum(__m512i lanes) {
  __m256i halves[2];
  __builtin_memcpy(halves, &lanes, sizeof(lanes));
  const __m256i eight = _mm256_add_epi32(halves[0], halves[1]);
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// The sums of the lanes of 16 vectors, as one vector.
inline __m512i sums_of_16(__m512i* rows) {
  for (int i = 0; i < 16; i += 2) {
    rows[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[i], rows[i + 1]),
                               _mm512_unpackhi_epi32(rows[i], rows[i + 1]));
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(rows[i], rows[i + 2]),
                               _mm512_unpackhi_epi64(rows[i], rows[i + 2]));
  }
  for (int i = 0; i < 16; i += 8) {
    rows[i] = _mm512_add_epi32(_mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88),
                               _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd));
  }
  // Quarter j of rows[0] holds rows 0 to 3 (j even) or 4 to 7 (j odd); the same 8 higher in rows[8].
  return _mm512_add_epi32(_mm512_shuffle_i32x4(rows[0], rows[8], 0x88),
                          _mm512_shuffle_i32x4(rows[0], rows[8], 0xdd));
}

// Upper nibbles first: their products are multiples of 16, so they come down by one shift a row.
inline __m512i dot_code_lanes(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  const __m512i low = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(static_cast<char>(0xf0));
  __m512i sums = _mm512_setzero_si512();
  for (size_t block = 0; block < n_blocks; ++block) {
    const __m512i pairs = _mm512_loadu_si512(codes + 64 * block);
    sums = _mm512_dpbusd_epi32(sums, _mm512_and_si512(pairs, high),
                               _mm512_loadu_si512(query + 128 * block + 64));
  }
  sums = _mm512_srai_epi32(sums, 4);
  for (size_t block = 0; block < n_blocks; ++block) {
    const __m512i pairs = _mm512_loadu_si512(codes + 64 * block);
    sums = _mm512_dpbusd_epi32(sums, _mm512_and_si512(pairs, low), _mm512_loadu_si512(query + 128 * block));
  }
  return sums;
}

template <size_t kBlocks>
inline size_t dot_codes_16(const uint8_t* codes, size_t n_rows, size_t n_blocks, const int8_t* query,
                           int32_t* out) {
  if (kBlocks != 0) n_blocks = kBlocks;  // known to the compiler: the query stays in registers
  size_t r = 0;
  for (; r + 16 <= n_rows; r += 16) {
    __m512i rows[16];
    for (size_t i = 0; i < 16; ++i) {
      const uint8_t* row = codes + 64 * n_blocks * (r + i);
      // The stream prefetchers of the CPU stop at pages and lag behind: this keeps lines coming from L3.
      for (size_t block = 0; block < n_blocks; ++block)
        __builtin_prefetch(row + 64 * (24 * n_blocks + block));
      rows[i] = dot_code_lanes(row, n_blocks, query);
    }
    _mm512_storeu_si512(out + r, sums_of_16(rows));
  }
  return r;
}

inline int32_t dot_code_row(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  return lane_sum(dot_code_lanes(codes, n_blocks, query));
}
#elif defined(__AVX2__)
// Products of a nibble and a signed byte fit 16 bits in pairs, and the pairs of four blocks of 32 too.
inline int32_t dot_code_row(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  const __m256i low = _mm256_set1_epi8(0x0f), ones = _mm256_set1_epi16(1);
  __m256i sums = _mm256_setzero_si256();
  for (size_t block = 0; block < n_blocks; ++block, codes += 64, query += 128) {
    __m256i sixteen = _mm256_setzero_si256();
    for (size_t half = 0; half < 64; half += 32) {
      const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + half));
      const __m256i lower = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query + half));
      const __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query + 64 + half));
      sixteen = _mm256_add_epi16(sixteen, _mm256_maddubs_epi16(_mm256_and_si256(pairs, low), lower));
      sixteen = _mm256_add_epi16(
          sixteen, _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(pairs, 4), low), upper));
    }
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(sixteen, ones));
  }
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
#else
inline int32_t dot_code_row(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  int32_t total = 0;
  for (size_t block = 0; block < n_blocks; ++block, codes += 64, query += 128) {
    for (size_t i = 0; i < 64; ++i) {
      total += static_cast<int32_t>(codes[i] & 15u) * query[i];
      total += static_cast<int32_t>(codes[i] >> 4) * query[64 + i];
    }
  }
  return total;
}
#endif

void dot_codes(const uint8_t* codes, size_t n_rows, size_t n_blocks, const int8_t* query, int32_t* out) {
  size_t r = 0;
#if defined(__AVX512F__)
  switch (n_blocks) {
    case 1:
      r = dot_codes_16<1>(codes, n_rows, n_blocks, query, out);
      break;
    case 2:
      r = dot_codes_16<2>(codes, n_rows, n_blocks, query, out);
      break;
    case 3:
      r = dot_codes_16<3>(codes, n_rows, n_blocks, query, out);
      break;
    default:
      r = dot_codes_16<0>(codes, n_rows, n_blocks, query, out);
  }
#endif
  for (; r < n_rows; ++r) out[r] = dot_code_row(codes + 64 * n_blocks * r, n_blocks, query);
}

int32_t dot_code_pair(const uint8_t* a, const uint8_t* b, size_t n_blocks) {
  int32_t total = 0;
#if defined(__AVX512F__)
  const __m512i low = _mm512_set1_epi8(0x0f), fifteen = _mm512_set1_epi8(15), ones = _mm512_set1_epi8(1);
  __m512i products = _mm512_setzero_si512(), steps = _mm512_setzero_si512();
  for (size_t block = 0; block < n_blocks; ++block) {
    const __m512i a_pairs = _mm512_loadu_si512(a + 64 * block), b_pairs = _mm512_loadu_si512(b + 64 * block);
    const __m512i a_nibbles[2] = {_mm512_and_si512(a_pairs, low),
                                  _mm512_and_si512(_mm512_srli_epi16(a_pairs, 4), low)};
    const __m512i b_nibbles[2] = {_mm512_and_si512(b_pairs, low),
                                  _mm512_and_si512(_mm512_srli_epi16(b_pairs, 4), low)};
    for (int half = 0; half < 2; ++half) {
      const __m512i centred = _mm512_sub_epi8(_mm512_add_epi8(b_nibbles[half], b_nibbles[half]), fifteen);
      products = _mm512_dpbusd_epi32(products, a_nibbles[half], centred);
      steps = _mm512_dpbusd_epi32(steps, ones, centred);
    }
  }
  total = 2 * lane_sum(products) - 15 * lane_sum(steps);
#else
  for (size_t i = 0; i < 64 * n_blocks; ++i) {
    total += (2 * static_cast<int32_t>(a[i] & 15u) - 15) * (2 * static_cast<int32_t>(b[i] & 15u) - 15);
    total += (2 * static_cast<int32_t>(a[i] >> 4) - 15) * (2 * static_cast<int32_t>(b[i] >> 4) - 15);
  }
#endif
  return total;
}

void bound_codes(const int32_t* dots, const float* factors, const float* biases, const float* errors,
                 size_t n, int32_t offset, float scale, float margin, float shift, uint32_t* bounds) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const I32x16 whole = load<I32x16>(dots + i) * 2 - offset;
    const F32x16 estimate = __builtin_convertvector(whole, F32x16) * (load<F32x16>(factors + i) * scale);
    const F32x16 bound = ((estimate + load<F32x16>(errors + i) * margin) + load<F32x16>(biases + i)) + shift;
    const I32x16 bits = (I32x16)(bound + 0.0f);
    const U32x16 sortable = (U32x16)(bits ^ ((bits >> 31) | static_cast<int>(0x80000000u))) >> 1;
    __builtin_memcpy(bounds + i, &sortable, sizeof(sortable));
  }
  for (; i < n; ++i) {
    const float estimate = static_cast<float>(dots[i] * 2 - offset) * (factors[i] * scale);
    const float bound = (((estimate + errors[i] * margin) + biases[i]) + shift) + 0.0f;
    int32_t bits;
    __builtin_memcpy(&bits, &bound, sizeof(bits));
    bounds[i] = static_cast<uint32_t>(bits ^ ((bits >> 31) | static_cast<int>(0x80000000u))) >> 1;
  }
}

size_t select_above(const uint32_t* values, size_t n, uint32_t threshold, uint32_t* positions) {
  size_t n_found = 0;
  const auto take = [&](size_t i) {
    for (unsigned bits = above(values + i, threshold); bits != 0; bits &= bits - 1) {
      positions[n_found++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
    }
  };
  size_t i = 0;
#if defined(__AVX512F__)
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(threshold));
  for (; i + 64 <= n; i += 64) {  // four vectors between branches: few are above
    const __m512i greatest = _mm512_max_epu32(
        _mm512_max_epu32(_mm512_loadu_si512(values + i), _mm512_loadu_si512(values + i + 16)),
        _mm512_max_epu32(_mm512_loadu_si512(values + i + 32), _mm512_loadu_si512(values + i + 48)));
    if (bits_of(_mm512_cmpgt_epu32_mask(greatest, limit)) == 0) continue;
    for (size_t j = 0; j < 64; j += 16) take(i + j);
  }
#endif
  for (; i < n; i += 16) take(i);
  return n_found;
}
