// Kernels of vector codes (vector/codes.hpp): included by kernels_impl.hpp, in its unnamed namespace and
// under its rules. Sums of products of codes are integers, so they are equal at every level.

inline constexpr size_t kBlockDims = 128;  // elements of a block: one cache line of four-bit codes

// Bit i: whether element i changes its sign.
inline F32x16 with_signs(F32x16 values, unsigned bits) {
  const auto changes = (all<U32x16>(bits) & lane_bits()) == lane_bits();
  return as<F32x16>(as<U32x16>(values) ^ (as<U32x16>(changes) << 31));
}

inline F32x16 magnitude_of(F32x16 values) {
  return as<F32x16>(as<U32x16>(values) & all<U32x16>(0x7fffffffu));
}

// Combines lane i with lane i ^ kDistance: the sum in the lower of the two, the difference in the upper.
#if defined(__AVX512F__)
template <unsigned kDistance>
inline F32x16 butterfly(F32x16 lanes) {
  const __m512 a = (__m512)lanes;
  __m512 b;
  if constexpr (kDistance == 8) b = _mm512_shuffle_f32x4(a, a, 0x4e);
  if constexpr (kDistance == 4) b = _mm512_shuffle_f32x4(a, a, 0xb1);
  if constexpr (kDistance == 2) b = _mm512_permute_ps(a, 0x4e);
  if constexpr (kDistance == 1) b = _mm512_permute_ps(a, 0xb1);
  constexpr __mmask16 kUpper = kDistance == 8   ? 0xff00
                               : kDistance == 4 ? 0xf0f0
                               : kDistance == 2 ? 0xcccc
                                                : 0xaaaa;
  return (F32x16)_mm512_mask_sub_ps(_mm512_add_ps(a, b), kUpper, b, a);
}
#else
template <unsigned kDistance>
inline F32x4 butterfly(F32x4 v) {
  static_assert(kDistance == 2 || kDistance == 1);
  const F32x4 others = kDistance == 2 ? F32x4{v[2], v[3], v[0], v[1]} : F32x4{v[1], v[0], v[3], v[2]};
  const U32x4 upper = (U32x4{0, 1, 2, 3} & kDistance) * (0x80000000u / kDistance);
  return others + (F32x4)((U32x4)v ^ upper);
}
#if defined(__AVX2__)
template <unsigned kDistance>
inline F32x8 butterfly(F32x8 v) {
  F32x8 others;
  if constexpr (kDistance == 4) others = F32x8{v[4], v[5], v[6], v[7], v[0], v[1], v[2], v[3]};
  if constexpr (kDistance == 2) others = F32x8{v[2], v[3], v[0], v[1], v[6], v[7], v[4], v[5]};
  if constexpr (kDistance == 1) others = F32x8{v[1], v[0], v[3], v[2], v[5], v[4], v[7], v[6]};
  const U32x8 upper = (U32x8{0, 1, 2, 3, 4, 5, 6, 7} & kDistance) * (0x80000000u / kDistance);
  return others + (F32x8)((U32x8)v ^ upper);
}
#endif
template <unsigned kDistance, class Half>
inline Pair<Half> butterfly(Pair<Half> v) {
  if constexpr (kDistance == sizeof(Half) / sizeof(float))
    return {v.low + v.high, v.low - v.high};
  else
    return {butterfly<kDistance>(v.low), butterfly<kDistance>(v.high)};
}
#endif

float rotate(const float* vector, size_t n_groups, const uint16_t* signs, size_t n_blocks, float* values) {
  for (size_t place = 0, group = 0; place < 8; ++place) {
    for (size_t block = 0; block < n_blocks; ++block, ++group) {
      F32x16 dealt = {};
      if (group < n_groups) dealt = with_signs(load<F32x16>(vector + 16 * group), signs[group]);
      store(values + kBlockDims * block + 16 * place, dealt);
    }
  }
  F32x16 most = {};
  for (size_t block = 0; block < n_blocks; ++block, values += kBlockDims) {
    // First whole vectors, then lanes within them.
    for (size_t h = 1; h < 8; h *= 2) {
      for (size_t i = 0; i < 8; ++i) {
        if (i & h) continue;
        const F32x16 a = load<F32x16>(values + 16 * i), b = load<F32x16>(values + 16 * (i + h));
        store(values + 16 * i, a + b);
        store(values + 16 * (i + h), a - b);
      }
    }
    for (size_t i = 0; i < kBlockDims; i += 16) {
      const auto v = butterfly<1>(butterfly<2>(butterfly<4>(butterfly<8>(load<F32x16>(values + i)))));
      store(values + i, v);
      most = greater(magnitude_of(v), most);
    }
  }
  return greatest<F32x4>(most);
}

int32_t quantise(const float* values, size_t n, float per_step, int8_t* out) {
  I32x16 total = {};
  for (size_t i = 0; i < n; i += 16) {
    const F32x16 exact = load<F32x16>(values + i) * all<F32x16>(per_step);
    const U32x16 sign = as<U32x16>(exact) & all<U32x16>(0x80000000u);
    const F32x16 half = as<F32x16>(sign | as<U32x16>(all<F32x16>(0.5f)));
    const I32x16 whole = convert<I32x16>(exact + half);
    total = total + whole;
    store_bytes(out + i, as<U32x16>(whole));
  }
  return sum(total);
}

float encode(const float* values, size_t n_blocks, float per_step, uint8_t* codes, uint32_t* square) {
  const auto top = all<F32x16>(15.0f);
  F32x16 along = {};
  U32x16 squares = {};
  for (size_t block = 0; block < n_blocks; ++block, values += kBlockDims, codes += kBlockDims / 2) {
    U32x16 lower[4];
    for (size_t i = 0; i < 8; ++i) {
      const F32x16 value = load<F32x16>(values + 16 * i);
      F32x16 step = value * all<F32x16>(per_step) + all<F32x16>(8.0f);
      step = select(step < F32x16{}, F32x16{}, step);
      step = select(top < step, top, step);
      const I32x16 code = convert<I32x16>(step), centred = code + code - all<I32x16>(15);
      along = along + value * convert<F32x16>(centred);
      squares = squares + as<U32x16>(centred * centred);
      if (i < 4)
        lower[i] = as<U32x16>(code);
      else
        store_bytes(codes + 16 * (i - 4), lower[i - 4] | (as<U32x16>(code) << 4));
    }
  }
  *square = sum(squares);
  return sum(along);
}

// Rows of codes, consecutive or at arbitrary addresses.
struct RowsInOrder {
  const uint8_t* codes;
  size_t row_bytes;
  void have(size_t n_blocks) { row_bytes = 64 * n_blocks; }  // possibly a compile-time constant
  const uint8_t* operator[](size_t r) const { return codes + row_bytes * r; }
  // The CPU's stream prefetchers stop at pages and lag behind: this keeps lines coming from L3.
  void prefetch_after(size_t r) const {
    for (size_t byte = 0; byte < row_bytes; byte += 64)
      __builtin_prefetch(codes + row_bytes * (r + 24) + byte);
  }
};
struct RowsPicked {
  const uint8_t* const* codes;
  void have(size_t) {}
  const uint8_t* operator[](size_t r) const { return codes[r]; }
  void prefetch_after(size_t) const {}  // left to the caller, which knew them earlier
};

#if defined(__AVX512F__)
// Halves are read by narrower loads: GCC 12 warns about its own _mm512_reduce_add_epi32.
inline int32_t lane_sum(__m512i lanes) {
  __m256i halves[2];
  __builtin_memcpy(halves, &lanes, sizeof(lanes));
  const __m256i eight = _mm256_add_epi32(halves[0], halves[1]);
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// The sums of the lanes of 2, 4, 8 and finally 16 vectors, as one vector: a reduction tree whose vectors stay
// in registers. `kNarrow`: the lanes fit into 16 bits.
template <bool kNarrow>
inline __m512i sums_of_2(__m512i a, __m512i b) {
  if constexpr (kNarrow) return _mm512_madd_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi16(1));
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
template <bool kNarrow>
inline __m512i sums_of_4(__m512i a, __m512i b) {
  if constexpr (kNarrow) {  // two sums of one row, then two of the other, in each quarter
    const __m512 c = _mm512_castsi512_ps(a), d = _mm512_castsi512_ps(b);
    return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(c, d, 0x88)),
                            _mm512_castps_si512(_mm512_shuffle_ps(c, d, 0xdd)));
  }
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
// Of eight vectors: quarter j holds rows 0 to 3 (j even) or 4 to 7 (j odd). Of sixteen: in order.
inline __m512i sums_of_quarters(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

// GCC would load a value used by two instructions once for each, but loads are the bottleneck of a row.
inline __m512i loaded_once(const uint8_t* from) {
  __m512i bytes = _mm512_loadu_si512(from);
  __asm__("" : "+v"(bytes));
  return bytes;
}

// Upper nibbles first: their products are multiples of 16, so one shift per row corrects them.
template <size_t kBlocks>
inline __m512i dot_code_lanes(const uint8_t* codes, const int8_t* query) {
  const __m512i low = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(static_cast<char>(0xf0));
  __m512i sums = _mm512_setzero_si512();
  for (size_t block = 0; block < kBlocks; ++block) {
    const __m512i pairs = _mm512_loadu_si512(codes + 64 * block);
    sums = _mm512_dpbusd_epi32(sums, _mm512_and_si512(pairs, high),
                               _mm512_loadu_si512(query + 128 * block + 64));
  }
  sums = _mm512_srai_epi32(sums, 4);
  for (size_t block = 0; block < kBlocks; ++block) {
    const __m512i pairs = _mm512_loadu_si512(codes + 64 * block);
    sums = _mm512_dpbusd_epi32(sums, _mm512_and_si512(pairs, low), _mm512_loadu_si512(query + 128 * block));
  }
  return sums;
}

// Two rows of any number of blocks share the loads of the query; the two sums of each row are independent.
[[gnu::noinline]] __m512i dot_two_code_rows(const uint8_t* a, const uint8_t* b, size_t n_blocks,
                                            const int8_t* query) {
  const __m512i low = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(static_cast<char>(0xf0));
  __m512i a_lower = _mm512_setzero_si512(), a_upper = a_lower, b_lower = a_lower, b_upper = a_lower;
  for (size_t block = 0; block < n_blocks; ++block) {
    const __m512i of_lower = _mm512_loadu_si512(query + 128 * block);
    const __m512i of_upper = _mm512_loadu_si512(query + 128 * block + 64);
    const __m512i a_pairs = loaded_once(a + 64 * block), b_pairs = loaded_once(b + 64 * block);
    a_lower = _mm512_dpbusd_epi32(a_lower, _mm512_and_si512(a_pairs, low), of_lower);
    b_lower = _mm512_dpbusd_epi32(b_lower, _mm512_and_si512(b_pairs, low), of_lower);
    a_upper = _mm512_dpbusd_epi32(a_upper, _mm512_and_si512(a_pairs, high), of_upper);
    b_upper = _mm512_dpbusd_epi32(b_upper, _mm512_and_si512(b_pairs, high), of_upper);
  }
  return sums_of_2<false>(_mm512_add_epi32(a_lower, _mm512_srai_epi32(a_upper, 4)),
                          _mm512_add_epi32(b_lower, _mm512_srai_epi32(b_upper, 4)));
}

inline constexpr size_t kRowsAtOnce = 16;
template <size_t kBlocks, class Rows>
[[gnu::always_inline]] inline void dot_some_codes(Rows codes, size_t r, size_t n_blocks, const int8_t* query,
                                                  int32_t* out) {
  // Eight products of a nibble and a signed byte, and those of a second block, fit into 16 bits.
  constexpr bool kNarrow = kBlocks == 1 || kBlocks == 2;
  const auto two = [&](size_t i) __attribute__((always_inline)) {
    codes.prefetch_after(i);
    codes.prefetch_after(i + 1);
    if constexpr (kBlocks == 0) {
      return dot_two_code_rows(codes[i], codes[i + 1], n_blocks, query);
    } else {
      const __m512i a = dot_code_lanes<kBlocks>(codes[i], query);
      return sums_of_2<kNarrow>(a, dot_code_lanes<kBlocks>(codes[i + 1], query));
    }
  };
  const auto four = [&](size_t i) __attribute__((always_inline)) {
    const __m512i a = two(i);
    return sums_of_4<kNarrow>(a, two(i + 2));
  };
  const auto eight = [&](size_t i) __attribute__((always_inline)) {
    const __m512i a = four(i);
    return sums_of_quarters(a, four(i + 4));
  };
  const __m512i a = eight(r);
  _mm512_storeu_si512(out + r, sums_of_quarters(a, eight(r + 8)));
}

inline int32_t dot_code_row(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  const __m512i low = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(static_cast<char>(0xf0));
  __m512i lower = _mm512_setzero_si512(), upper = lower;
  for (size_t block = 0; block < n_blocks; ++block) {
    const __m512i pairs = loaded_once(codes + 64 * block);
    lower = _mm512_dpbusd_epi32(lower, _mm512_and_si512(pairs, low), _mm512_loadu_si512(query + 128 * block));
    upper = _mm512_dpbusd_epi32(upper, _mm512_and_si512(pairs, high),
                                _mm512_loadu_si512(query + 128 * block + 64));
  }
  return lane_sum(_mm512_add_epi32(lower, _mm512_srai_epi32(upper, 4)));
}
#elif defined(__AVX2__)
inline int32_t sum_of_8(__m256i lanes) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

inline __m256i lanes_at(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// Products of a nibble and a signed byte fit into 16 bits in pairs, and so do eight such pairs: those
// of two blocks.
inline __m256i dot_code_lanes(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  const __m256i low = _mm256_set1_epi8(0x0f), ones = _mm256_set1_epi16(1);
  const auto products = [&](__m256i nibbles, const int8_t* elements) {
    return _mm256_maddubs_epi16(nibbles, lanes_at(elements));
  };
  __m256i sums = _mm256_setzero_si256(), pairs = _mm256_setzero_si256();
  for (size_t block = 0; block < n_blocks; ++block, codes += 64, query += 128) {
    const __m256i first = lanes_at(codes), second = lanes_at(codes + 32);
    const __m256i lower = _mm256_add_epi16(products(_mm256_and_si256(first, low), query),
                                           products(_mm256_and_si256(second, low), query + 32));
    const __m256i upper =
        _mm256_add_epi16(products(_mm256_and_si256(_mm256_srli_epi16(first, 4), low), query + 64),
                         products(_mm256_and_si256(_mm256_srli_epi16(second, 4), low), query + 96));
    pairs = _mm256_add_epi16(pairs, _mm256_add_epi16(lower, upper));
    if (block % 2 == 1 || block + 1 == n_blocks) {
      sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, ones));
      pairs = _mm256_setzero_si256();
    }
  }
  return sums;
}

inline int32_t dot_code_row(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  return sum_of_8(dot_code_lanes(codes, n_blocks, query));
}

// Not inlined: a reduction tree over loops of unknown length is long.
[[gnu::noinline]] __m256i dot_many_code_lanes(const uint8_t* codes, size_t n_blocks, const int8_t* query) {
  return dot_code_lanes(codes, n_blocks, query);
}

inline constexpr size_t kRowsAtOnce = 8;
template <size_t kBlocks, class Rows>
[[gnu::always_inline]] inline void dot_some_codes(Rows codes, size_t r, size_t n_blocks, const int8_t* query,
                                                  int32_t* out) {
  const auto lanes = [&](size_t i) __attribute__((always_inline)) {
    codes.prefetch_after(i);
    if constexpr (kBlocks == 0) {
      return dot_many_code_lanes(codes[i], n_blocks, query);
    } else {
      return dot_code_lanes(codes[i], n_blocks, query);
    }
  };
  const auto two = [&](size_t i) __attribute__((always_inline)) {
    const __m256i a = lanes(i);
    return _mm256_hadd_epi32(a, lanes(i + 1));
  };
  const auto four = [&](size_t i) __attribute__((always_inline)) {
    const __m256i a = two(i);
    return _mm256_hadd_epi32(a, two(i + 2));
  };
  const __m256i a = four(r), b = four(r + 4);
  // Lower halves hold the sums of lanes 0 to 3, upper halves those of lanes 4 to 7.
  const __m256i sums =
      _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + r), sums);
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

template <size_t kBlocks, class Rows>
inline void dot_all_codes(Rows codes, size_t n_rows, size_t n_blocks, const int8_t* query, int32_t* out) {
  if (kBlocks != 0) n_blocks = kBlocks;  // a compile-time constant: the query stays in registers
  codes.have(n_blocks);
  size_t r = 0;
#if defined(__AVX2__)
  for (; r + kRowsAtOnce <= n_rows; r += kRowsAtOnce) dot_some_codes<kBlocks>(codes, r, n_blocks, query, out);
#endif
  for (; r < n_rows; ++r) out[r] = dot_code_row(codes[r], n_blocks, query);
}

template <class Rows>
inline void dot_rows_of_codes(Rows codes, size_t n_rows, size_t n_blocks, const int8_t* query, int32_t* out) {
  switch (n_blocks) {
    case 1:
      return dot_all_codes<1>(codes, n_rows, n_blocks, query, out);
    case 2:
      return dot_all_codes<2>(codes, n_rows, n_blocks, query, out);
    case 3:
      return dot_all_codes<3>(codes, n_rows, n_blocks, query, out);
    case 4:
      return dot_all_codes<4>(codes, n_rows, n_blocks, query, out);
    default:
      return dot_all_codes<0>(codes, n_rows, n_blocks, query, out);
  }
}

void dot_codes(const uint8_t* codes, size_t n_rows, size_t n_blocks, const int8_t* query, int32_t* out) {
  dot_rows_of_codes(RowsInOrder{codes, 64 * n_blocks}, n_rows, n_blocks, query, out);
}

void dot_picked_codes(const uint8_t* const* codes, size_t n_rows, size_t n_blocks, const int8_t* query,
                      int32_t* out) {
  dot_rows_of_codes(RowsPicked{codes}, n_rows, n_blocks, query, out);
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
#elif defined(__AVX2__)
  // A block adds at most 4 * 450 to a 16-bit lane: sixteen blocks fit.
  constexpr size_t kFit = 64 * 16;
  const __m256i low = _mm256_set1_epi8(0x0f), fifteen = _mm256_set1_epi8(15), ones = _mm256_set1_epi8(1);
  const __m256i wide_ones = _mm256_set1_epi16(1);
  __m256i products = _mm256_setzero_si256(), steps = _mm256_setzero_si256();
  for (size_t first = 0, n_bytes = 64 * n_blocks; first < n_bytes; first += kFit) {
    __m256i few_products = _mm256_setzero_si256(), few_steps = _mm256_setzero_si256();
    for (size_t byte = first; byte < first + kFit && byte < n_bytes; byte += 32) {
      const __m256i a_pairs = lanes_at(a + byte), b_pairs = lanes_at(b + byte);
      for (int half = 0; half < 2; ++half) {
        const __m256i a_nibbles = _mm256_and_si256(half == 0 ? a_pairs : _mm256_srli_epi16(a_pairs, 4), low);
        const __m256i b_nibbles = _mm256_and_si256(half == 0 ? b_pairs : _mm256_srli_epi16(b_pairs, 4), low);
        const __m256i centred = _mm256_sub_epi8(_mm256_add_epi8(b_nibbles, b_nibbles), fifteen);
        few_products = _mm256_add_epi16(few_products, _mm256_maddubs_epi16(a_nibbles, centred));
        few_steps = _mm256_add_epi16(few_steps, _mm256_maddubs_epi16(ones, centred));
      }
    }
    products = _mm256_add_epi32(products, _mm256_madd_epi16(few_products, wide_ones));
    steps = _mm256_add_epi32(steps, _mm256_madd_epi16(few_steps, wide_ones));
  }
  total = 2 * sum_of_8(products) - 15 * sum_of_8(steps);
#else
  for (size_t i = 0; i < 64 * n_blocks; ++i) {
    total += (2 * static_cast<int32_t>(a[i] & 15u) - 15) * (2 * static_cast<int32_t>(b[i] & 15u) - 15);
    total += (2 * static_cast<int32_t>(a[i] >> 4) - 15) * (2 * static_cast<int32_t>(b[i] >> 4) - 15);
  }
#endif
  return total;
}

void bound_codes(const int32_t* dots, const float* factors, const float* biases, const uint16_t* errors,
                 size_t n, int32_t offset, float scale, float margin, float shift, uint32_t* bounds) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const I32x16 dot = load<I32x16>(dots + i), whole = dot + dot - all<I32x16>(offset);
    const F32x16 estimate = convert<F32x16>(whole) * (load<F32x16>(factors + i) * all<F32x16>(scale));
    F32x16 exact = estimate + widen_upper_halves(errors + i) * all<F32x16>(margin);
    if (biases) exact = exact + load<F32x16>(biases + i);
    exact = exact + all<F32x16>(shift);
    const I32x16 bits = as<I32x16>(exact + F32x16{});
    store(bounds + i, as<U32x16>(bits ^ ((bits >> 31) | all<I32x16>(static_cast<int>(0x80000000u)))) >> 1);
  }
  for (; i < n; ++i) {
    const float estimate = static_cast<float>(dots[i] * 2 - offset) * (factors[i] * scale);
    const uint32_t upper_half = static_cast<uint32_t>(errors[i]) << 16;
    float error;
    __builtin_memcpy(&error, &upper_half, sizeof(error));
    const float bound = (((estimate + error * margin) + (biases ? biases[i] : 0.0f)) + shift) + 0.0f;
    int32_t bits;
    __builtin_memcpy(&bits, &bound, sizeof(bits));
    bounds[i] = static_cast<uint32_t>(bits ^ ((bits >> 31) | static_cast<int>(0x80000000u))) >> 1;
  }
}

size_t select_above(const uint32_t* values, size_t n, uint32_t threshold, uint32_t* positions) {
  size_t n_found = 0, i = 0;
#if defined(__AVX512F__)
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(threshold));
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto take = [&](size_t at) {
    const __mmask16 bits = _mm512_cmpgt_epu32_mask(_mm512_loadu_si512(values + at), limit);
    const __m512i position = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(at)));
    _mm512_storeu_si512(positions + n_found, _mm512_maskz_compress_epi32(bits, position));
    n_found += static_cast<size_t>(__builtin_popcount(bits_of(bits)));
  };
  for (; i + 64 <= n; i += 64) {  // four vectors per branch: few values are above
    const __m512i greatest = _mm512_max_epu32(
        _mm512_max_epu32(_mm512_loadu_si512(values + i), _mm512_loadu_si512(values + i + 16)),
        _mm512_max_epu32(_mm512_loadu_si512(values + i + 32), _mm512_loadu_si512(values + i + 48)));
    if (bits_of(_mm512_cmpgt_epu32_mask(greatest, limit)) == 0) continue;
    for (size_t j = 0; j < 64; j += 16) take(i + j);
  }
  for (; i < n; i += 16) take(i);
#elif defined(__AVX2__)
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(threshold));
  const auto take = [&](__m256i value, size_t at) {
    const unsigned bits = eight_above(value, limit);
    put_eight(positions + n_found,
              _mm256_add_epi32(set_lanes(bits), _mm256_set1_epi32(static_cast<int>(at))));
    n_found += static_cast<size_t>(__builtin_popcount(bits));
  };
  for (; i + 32 <= n; i += 32) {
    const __m256i four[4] = {eight_at(values + i), eight_at(values + i + 8), eight_at(values + i + 16),
                             eight_at(values + i + 24)};
    if (!any_above(four, limit)) continue;
    for (size_t j = 0; j < 4; ++j) take(four[j], i + 8 * j);
  }
  for (; i < n; i += 8) take(eight_at(values + i), i);
#else
  for (; i < n; i += 16) {
    for (unsigned bits = above(values + i, threshold); bits != 0; bits &= bits - 1)
      positions[n_found++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
  }
#endif
  return n_found;
}
