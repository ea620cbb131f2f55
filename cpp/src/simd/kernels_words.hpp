// Kernels that compare words with many others; included by kernels_impl.hpp inside its unnamed namespace and
// under its rules.

// Bit i: lane i is not zero.
inline uint32_t lanes_set(U32x16 lanes) {
#if defined(__AVX512F__)
  return bits_of(_mm512_test_epi32_mask((__m512i)lanes, (__m512i)lanes));
#elif defined(__AVX2__)
  const auto eight = [](U32x8 half) {
    const __m256i zero = _mm256_cmpeq_epi32((__m256i)half, _mm256_setzero_si256());
    return ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(zero))) & 0xffu;
  };
  return eight(lanes.low) | eight(lanes.high) << 8;
#else
  return sum(select(lanes == U32x16{}, U32x16{}, lane_bits()));
#endif
}

// table[i] for 16 indices below 32.
inline U32x16 look_up(const uint32_t* table, U32x16 indices) {
#if defined(__AVX512F__)
  return (U32x16)_mm512_permutex2var_epi32(_mm512_loadu_si512(table), (__m512i)indices,
                                           _mm512_loadu_si512(table + 16));
#elif defined(__AVX2__)
  const auto* const from = reinterpret_cast<const int*>(table);
  return {(U32x8)_mm256_i32gather_epi32(from, (__m256i)indices.low, 4),
          (U32x8)_mm256_i32gather_epi32(from, (__m256i)indices.high, 4)};
#else
  uint32_t lanes[16];
  store(lanes, indices);
  for (uint32_t& lane : lanes) lane = table[lane];
  return load<U32x16>(lanes);
#endif
}

uint64_t few_others(const uint32_t* sets, size_t n, uint32_t letters) {
  const auto outside = all<U32x16>(~letters), one = all<U32x16>(1u);
  uint64_t found = 0;
  for (size_t i = 0; i < n; i += 16) {
    const auto set = load<U32x16>(sets + i);
    const auto others = set & outside, less_one = others & (others - one),
               less_two = less_one & (less_one - one);
    found |= static_cast<uint64_t>(lanes_set(set) & ~lanes_set(less_two)) << i;
  }
  return found;
}

// As in text/two_edits.cpp, for 16 words at a time.
uint64_t near_beginnings(const uint32_t* beginnings, size_t n, uint32_t first, const uint32_t* places) {
  constexpr unsigned kLetters = 6, kBits = 5;
  uint64_t found = 0;
  for (size_t i = 0; i < n; i += 16) {
    auto letters = load<U32x16>(beginnings + i);
    auto exact = all<U32x16>(1u), one = all<U32x16>(3u), two = all<U32x16>(7u);
    U32x16 exact_before{}, one_before{}, previous{};
    const auto add_letter = [&](U32x16 same) {
      const auto exchanged = same & (previous >> 1);
      const auto next_exact = (exact & same) << 1;
      const auto next_one =
          ((one & same) << 1) | exact | ((exact | next_exact) << 1) | ((exact_before & exchanged) << 2);
      two = ((two & same) << 1) | one | ((one | next_one) << 1) | ((one_before & exchanged) << 2);
      exact_before = exact;
      one_before = one;
      exact = next_exact;
      one = next_one;
      previous = same;
    };
    add_letter(all<U32x16>(places[first]));
    for (unsigned letter = 0; letter < kLetters; ++letter) {
      add_letter(look_up(places, letters & all<U32x16>((1u << kBits) - 1)));
      letters = letters >> kBits;
    }
    found |= static_cast<uint64_t>(lanes_set(two)) << i;
  }
  return found;
}
