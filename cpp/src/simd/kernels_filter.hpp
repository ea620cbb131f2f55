// Filter kernels; included by kernels_impl.hpp inside its unnamed namespace.

void hide(uint32_t* values, size_t n, const uint64_t* hidden, size_t first, uint32_t value) {
#if defined(__AVX512F__)
  const __m512i covered = _mm512_set1_epi32(static_cast<int>(value));
  for (size_t i = 0; i < n; i += 16) {
    const auto bits = static_cast<__mmask16>(hidden[(first + i) / 64] >> ((first + i) % 64));
    _mm512_mask_storeu_epi32(values + i, bits, covered);
  }
#else
  const auto cover = all<U32x16>(value);
  for (size_t i = 0; i < n; i += 16) {
    const auto bits = static_cast<unsigned>(hidden[(first + i) / 64] >> ((first + i) % 64)) & 0xffffu;
    if (bits == 0) continue;
    const auto shown = (all<U32x16>(bits) & lane_bits()) == U32x16{};
    store(values + i, select(shown, load<U32x16>(values + i), cover));
  }
#endif
}

inline size_t n_bits_of(uint64_t word) {
#if defined(__POPCNT__)
  return static_cast<size_t>(__builtin_popcountll(word));
#else
  word -= (word >> 1) & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  return static_cast<size_t>((((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u) >> 56);
#endif
}

size_t complement(uint64_t* bits, const uint64_t* without, size_t n) {
  size_t n_set = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t kept = without ? bits[i] & ~without[i] : bits[i];
    n_set += n_bits_of(kept);
    bits[i] = ~kept;
  }
  return n_set;
}

// The bits of 64 codes.
inline uint64_t codes_within(const uint16_t* values, uint16_t first, uint16_t span) {
#if defined(__AVX512F__)
  const __m512i base = _mm512_set1_epi16(static_cast<short>(first));
  const __m512i limit = _mm512_set1_epi16(static_cast<short>(span));
  const __m512i low = _mm512_sub_epi16(_mm512_loadu_si512(values), base);
  const __m512i high = _mm512_sub_epi16(_mm512_loadu_si512(values + 32), base);
  uint32_t low_bits = _mm512_cmple_epu16_mask(low, limit);
  uint32_t high_bits = _mm512_cmple_epu16_mask(high, limit);
  __asm__("" : "+r"(low_bits), "+r"(high_bits));  // as in bits_of()
  return low_bits | (uint64_t{high_bits} << 32);
#elif defined(__AVX2__)
  const __m256i base = _mm256_set1_epi16(static_cast<short>(first));
  const __m256i limit = _mm256_set1_epi16(static_cast<short>(span));
  uint64_t bits = 0;
  for (unsigned half = 0; half < 2; ++half) {
    __m256i within[2];
    for (unsigned i = 0; i < 2; ++i) {
      const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 32 * half + 16 * i));
      within[i] =
          _mm256_cmpeq_epi16(_mm256_subs_epu16(_mm256_sub_epi16(value, base), limit), _mm256_setzero_si256());
    }
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(within[0], within[1]), 0xd8);
    bits |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(packed))} << (32 * half);
  }
  return bits;
#elif defined(__SSE2__)
  const __m128i base = _mm_set1_epi16(static_cast<short>(first));
  const __m128i limit = _mm_set1_epi16(static_cast<short>(span));
  uint64_t bits = 0;
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    __m128i within[2];
    for (unsigned i = 0; i < 2; ++i) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 16 * quarter + 8 * i));
      within[i] = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_sub_epi16(value, base), limit), _mm_setzero_si128());
    }
    bits |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_packs_epi16(within[0], within[1]))) << (16 * quarter);
  }
  return bits;
#else
  uint64_t bits = 0;
  for (unsigned i = 0; i < 64; ++i)
    bits |= static_cast<uint64_t>(static_cast<uint16_t>(values[i] - first) <= span) << i;
  return bits;
#endif
}

void match_codes(const uint16_t* values, size_t n, uint16_t first, uint16_t span, uint64_t* bits) {
  size_t i = 0;
  for (; i + 64 <= n; i += 64) bits[i / 64] |= codes_within(values + i, first, span);
  for (; i < n; ++i) {
    bits[i / 64] |= static_cast<uint64_t>(static_cast<uint16_t>(values[i] - first) <= span) << (i % 64);
  }
}

void match_between(const uint16_t* values, size_t n, uint16_t first, uint16_t last, uint64_t* bits,
                   uint64_t* ends) {
  const bool some = last > first + 1;
  const auto span = static_cast<uint16_t>(some ? last - first - 2 : 0);
  for (size_t i = 0; i < n; i += 64) {
    const uint64_t between = codes_within(values + i, static_cast<uint16_t>(first + 1), span);
    bits[i / 64] |= some ? between : 0;
    ends[i / 64] = codes_within(values + i, first, 0) | codes_within(values + i, last, 0);
  }
}

void match_code_set(const uint16_t* values, size_t n, const uint32_t* set, uint64_t* bits) {
  size_t i = 0;
#if defined(__AVX512F__)
  const __m512i low = _mm512_set1_epi32(31), one = _mm512_set1_epi32(1);
  for (; i + 16 <= n; i += 16) {
    const __m512i code =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i)));
    const __m512i word = _mm512_i32gather_epi32(_mm512_srli_epi32(code, 5), set, 4);
    const __m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(code, low));
    bits[i / 64] |= static_cast<uint64_t>(bits_of(_mm512_test_epi32_mask(word, bit))) << (i % 64);
  }
#elif defined(__AVX2__)
  const __m256i top = _mm256_set1_epi32(31);
  for (; i + 8 <= n; i += 8) {
    const __m256i code = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i)));
    const __m256i word =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(set), _mm256_srli_epi32(code, 5), 4);
    // Moves the code's bit to the top.
    const __m256i shifted = _mm256_sllv_epi32(word, _mm256_andnot_si256(code, top));
    const auto found = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(shifted)));
    bits[i / 64] |= static_cast<uint64_t>(found) << (i % 64);
  }
#endif
  for (; i < n; ++i)
    bits[i / 64] |= static_cast<uint64_t>((set[values[i] / 32] >> (values[i] % 32)) & 1) << (i % 64);
}

// The bits of eight values.
inline unsigned range_within(const int64_t* values, int64_t least, int64_t greatest) {
#if defined(__AVX512F__)
  const __m512i value = _mm512_loadu_si512(values);
  const __mmask8 above = _mm512_cmpge_epi64_mask(value, _mm512_set1_epi64(least));
  return bits_of(_mm512_mask_cmple_epi64_mask(above, value, _mm512_set1_epi64(greatest)));
#elif defined(__AVX2__)
  unsigned bits = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 4 * half));
    const __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi64(_mm256_set1_epi64x(least), value),
                                            _mm256_cmpgt_epi64(value, _mm256_set1_epi64x(greatest)));
    bits |= (static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(outside))) ^ 0xfu) << (4 * half);
  }
  return bits;
#else
  unsigned bits = 0;
  for (unsigned i = 0; i < 8; ++i)
    bits |= static_cast<unsigned>((values[i] >= least) & (values[i] <= greatest)) << i;
  return bits;
#endif
}

void match_range(const int64_t* values, size_t n, int64_t least, int64_t greatest, uint64_t* bits) {
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    uint64_t word = 0;
    for (unsigned j = 0; j < 64; j += 8)
      word |= static_cast<uint64_t>(range_within(values + i + j, least, greatest)) << j;
    bits[i / 64] |= word;
  }
  for (; i < n; ++i) {
    bits[i / 64] |= static_cast<uint64_t>((values[i] >= least) & (values[i] <= greatest)) << (i % 64);
  }
}
