// Kernels that select among candidates; included by kernels_impl.hpp inside its unnamed namespace and under
// its rules.
//
// Number of values that exceed `bound`.
inline size_t count_above(const uint32_t* values, size_t n, uint32_t bound) {
  size_t i = 0, n_above = 0;
#if defined(__AVX512F__)
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(bound)), one = _mm512_set1_epi32(1);
  __m512i counts[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (; i + 32 <= n; i += 32) {
    const __mmask16 first = _mm512_cmpgt_epu32_mask(_mm512_loadu_si512(values + i), limit);
    const __mmask16 second = _mm512_cmpgt_epu32_mask(_mm512_loadu_si512(values + i + 16), limit);
    counts[0] = _mm512_mask_add_epi32(counts[0], first, counts[0], one);
    counts[1] = _mm512_mask_add_epi32(counts[1], second, counts[1], one);
  }
  for (; i < n; i += 16) {
    const auto lanes = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    const __m512i value = _mm512_maskz_loadu_epi32(lanes, values + i);
    counts[0] = _mm512_mask_add_epi32(counts[0], _mm512_cmpgt_epu32_mask(value, limit), counts[0], one);
  }
  n_above = static_cast<unsigned>(_mm512_reduce_add_epi32(_mm512_add_epi32(counts[0], counts[1])));
#else
  const auto limit = all<I32x16>(static_cast<int>(bound));
  I32x16 counts = {};
  for (; i + 16 <= n; i += 16) counts = counts - (limit < load<I32x16>(values + i));
  n_above = static_cast<unsigned>(sum(counts));
  for (; i < n; ++i) n_above += values[i] > bound ? 1 : 0;
#endif
  return n_above;
}

inline void count_above_three(const uint32_t* values, size_t n, const uint32_t* bounds, size_t* n_above) {
#if defined(__AVX512F__)
  __m512i limits[3], counts[3];
  for (size_t j = 0; j < 3; ++j) {
    limits[j] = _mm512_set1_epi32(static_cast<int>(bounds[j]));
    counts[j] = _mm512_setzero_si512();
  }
  const __m512i one = _mm512_set1_epi32(1);
  for (size_t i = 0; i < n; i += 16) {
    const auto lanes = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    const __m512i value = _mm512_maskz_loadu_epi32(lanes, values + i);
    for (size_t j = 0; j < 3; ++j)
      counts[j] = _mm512_mask_add_epi32(counts[j], _mm512_cmpgt_epu32_mask(value, limits[j]), counts[j], one);
  }
  for (size_t j = 0; j < 3; ++j) n_above[j] = static_cast<unsigned>(_mm512_reduce_add_epi32(counts[j]));
#else
  I32x16 limits[3], counts[3] = {};
  for (size_t j = 0; j < 3; ++j) limits[j] = all<I32x16>(static_cast<int>(bounds[j]));
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const auto value = load<I32x16>(values + i);
    for (size_t j = 0; j < 3; ++j) counts[j] = counts[j] - (limits[j] < value);
  }
  for (size_t j = 0; j < 3; ++j) {
    n_above[j] = static_cast<unsigned>(sum(counts[j]));
    for (size_t rest = i; rest < n; ++rest) n_above[j] += values[rest] > bounds[j] ? 1 : 0;
  }
#endif
}

// Appends the values in (low, high] to `out`, which has room for 16 more; returns their number.
inline size_t select_between(const uint32_t* values, size_t n, uint32_t low, uint32_t high, uint32_t* out) {
  size_t n_found = 0, i = 0;
#if defined(__AVX512F__)
  const __m512i least = _mm512_set1_epi32(static_cast<int>(low));
  const __m512i most = _mm512_set1_epi32(static_cast<int>(high));
  for (; i < n; i += 16) {
    const auto lanes = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    const __m512i value = _mm512_maskz_loadu_epi32(lanes, values + i);
    const __mmask16 between =
        _mm512_mask_cmple_epu32_mask(_mm512_mask_cmpgt_epu32_mask(lanes, value, least), value, most);
    _mm512_storeu_si512(out + n_found, _mm512_maskz_compress_epi32(between, value));
    n_found += static_cast<size_t>(__builtin_popcount(bits_of(between)));
  }
#elif defined(__AVX2__)
  const __m256i least = _mm256_set1_epi32(static_cast<int>(low));
  const __m256i most = _mm256_set1_epi32(static_cast<int>(high));
  for (; i + 8 <= n; i += 8) {
    const __m256i value = eight_at(values + i);
    const unsigned bits = eight_above(value, least) & ~eight_above(value, most);
    if (bits == 0) continue;  // usually none
    put_eight(out + n_found, _mm256_permutevar8x32_epi32(value, set_lanes(bits)));
    n_found += static_cast<size_t>(__builtin_popcount(bits));
  }
#endif
  for (; i < n; ++i) {
    out[n_found] = values[i];
    n_found += values[i] > low && values[i] <= high ? 1 : 0;
  }
  return n_found;
}

// The least value above `low`, which must exist.
inline uint32_t least_above(const uint32_t* values, size_t n, uint32_t low) {
  const auto limit = all<I32x16>(static_cast<int>(low)), none = all<I32x16>(0x7fffffff);
  auto least_lanes = none;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const auto value = load<I32x16>(values + i);
    least_lanes = lesser(select(limit < value, value, none), least_lanes);
  }
  auto found = static_cast<uint32_t>(least<I32x4>(least_lanes));
  for (; i < n; ++i) found = values[i] > low && values[i] < found ? values[i] : found;
  return found;
}

// The k-th greatest of `n` values, at most 16: the least value that fewer than k values exceed.
inline uint32_t kth_of_few(const uint32_t* values, size_t n, size_t k) {
  uint32_t padded[16] = {};
  for (size_t i = 0; i < n; ++i) padded[i] = values[i];
  const auto lanes = load<I32x16>(padded);
  auto n_greater = I32x16{};
  for (size_t i = 0; i < n; ++i) n_greater = n_greater - (lanes < all<I32x16>(static_cast<int>(padded[i])));
  const I32x16 few = n_greater < all<I32x16>(static_cast<int>(k));
  return static_cast<uint32_t>(least<I32x4>(select(few, lanes, all<I32x16>(0x7fffffff))));
}

// Three borders around the k-th greatest of n values, ascending, from a sample of sixteen, between which
// there are usually few values. Scores are often crowded, and the bits of floats are crowded around zero.
inline void sample_borders(const uint32_t* values, size_t n, size_t k, uint32_t* borders) {
  uint32_t sample[16];
  for (size_t i = 0; i < 16; ++i) sample[i] = values[(2 * i + 1) * n / 32];
  const size_t rank = (16 * k + n / 2) / n;
  borders[0] = kth_of_few(sample, 16, rank + 2 < 16 ? rank + 2 : 16);
  borders[1] = kth_of_few(sample, 16, rank < 1 ? 1 : rank < 16 ? rank : 16);
  borders[2] = kth_of_few(sample, 16, rank < 3 ? 1 : rank - 2);
}

// Narrows an interval of scores at borders from a sample, then into quarters, until it contains few values,
// and selects among those.
uint32_t kth_greatest(const uint32_t* values, size_t n, size_t k, uint32_t below) {
  constexpr size_t kFew = 16;
  // Invariant: n_low values exceed `low`, at least k; n_high values exceed `high`, fewer than k.
  uint32_t low = 0x7fffffff, high = 0;
  {
    auto most = I32x16{}, least_lanes = all<I32x16>(static_cast<int>(low));
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const auto value = load<I32x16>(values + i);
      most = greater(value, most);
      least_lanes = lesser(value, least_lanes);
    }
    low = static_cast<uint32_t>(least<I32x4>(least_lanes));
    high = static_cast<uint32_t>(greatest<I32x4>(most));
    for (; i < n; ++i) {
      low = values[i] < low ? values[i] : low;
      high = values[i] > high ? values[i] : high;
    }
  }
  size_t n_low = n, n_high = 0;
  if (low > below) {
    --low;
  } else {
    low = below;
    n_low = count_above(values, n, below);
  }
  if (n_low < k) return below;
  constexpr size_t kSampled = 64;  // minimum number of values for a sample
  bool sampled = n < kSampled;
  while (n_low - n_high > kFew && n_low != k && high - low > 3) {
    const uint32_t quarter = (high - low) / 4;
    uint32_t borders[3];
    size_t n_above[3];
    for (uint32_t i = 0; i < 3; ++i) borders[i] = low + (i + 1) * quarter;
    if (!sampled) {
      sample_borders(values, n, k, borders);
      for (uint32_t& border : borders) {  // a border outside the interval is useless
        border = border < low ? low : border;
        border = border > high ? high : border;
      }
      sampled = true;
    }
    count_above_three(values, n, borders, n_above);
    for (size_t i = 0; i < 3; ++i) {  // as selections, to avoid mispredicted branches
      const bool enough = n_above[i] >= k;
      low = enough ? borders[i] : low;
      n_low = enough ? n_above[i] : n_low;
    }
    for (size_t i = 3; i-- > 0;) {
      const bool enough = n_above[i] >= k;
      high = enough ? high : borders[i];
      n_high = enough ? n_high : n_above[i];
    }
  }
  if (n_low == k) return least_above(values, n, low);
  uint32_t few[kFew + 16];
  while (n_low - n_high > kFew) {  // many are equal
    if (high - low <= 1) return high;
    const uint32_t middle = low + (high - low) / 2;
    const size_t n_above = count_above(values, n, middle);
    (n_above >= k ? low : high) = middle;
    (n_above >= k ? n_low : n_high) = n_above;
  }
  const size_t n_few = select_between(values, n, low, high, few);
  return kth_of_few(few, n_few, k - n_high);
}

size_t keep_above(uint32_t* positions, uint32_t* scores, size_t n, uint32_t threshold) {
  size_t n_kept = 0, i = 0;
#if defined(__AVX512F__)
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(threshold));
  for (; i < n; i += 16) {
    const auto lanes = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    const __m512i position = _mm512_maskz_loadu_epi32(lanes, positions + i);
    const __m512i score = _mm512_maskz_loadu_epi32(lanes, scores + i);
    const __mmask16 kept = _mm512_mask_cmpgt_epu32_mask(lanes, score, limit);
    _mm512_storeu_si512(positions + n_kept, _mm512_maskz_compress_epi32(kept, position));
    _mm512_storeu_si512(scores + n_kept, _mm512_maskz_compress_epi32(kept, score));
    n_kept += static_cast<size_t>(__builtin_popcount(bits_of(kept)));
  }
#elif defined(__AVX2__)
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(threshold));
  for (; i + 8 <= n; i += 8) {
    const __m256i position = eight_at(positions + i), score = eight_at(scores + i);
    const unsigned kept = eight_above(score, limit);
    const __m256i lanes = set_lanes(kept);
    put_eight(positions + n_kept, _mm256_permutevar8x32_epi32(position, lanes));
    put_eight(scores + n_kept, _mm256_permutevar8x32_epi32(score, lanes));
    n_kept += static_cast<size_t>(__builtin_popcount(kept));
  }
#endif
  for (; i < n; ++i) {
    const uint32_t score = scores[i];
    positions[n_kept] = positions[i];
    scores[n_kept] = score;
    n_kept += score > threshold ? 1 : 0;
  }
  return n_kept;
}

size_t harvest_listed(const uint16_t* offsets, size_t n, uint32_t* sums, uint32_t threshold,
                      uint32_t* positions, uint32_t* scores) {
  size_t n_found = 0, i = 0;
  for (; i < n; ++i) {
    const uint32_t sum = sums[offsets[i]];
    sums[offsets[i]] = 0;
    positions[n_found] = offsets[i];
    scores[n_found] = sum;
    n_found += sum > threshold ? 1 : 0;
  }
  return n_found;
}

// The counts for values [0, 16 kGroups) among n values from `all_values` on.
template <size_t kGroups>
inline void count_greater_of(const int32_t* values, const int32_t* all_values, size_t n, int32_t* counts) {
  I32x16 some[kGroups], n_greater[kGroups] = {};
  for (size_t g = 0; g < kGroups; ++g) some[g] = load<I32x16>(values + 16 * g);
  for (size_t j = 0; j < n; ++j) {
    const auto other = all<I32x16>(all_values[j]);
#if defined(__AVX512F__)
    const __m512i one = _mm512_set1_epi32(1);
    for (size_t g = 0; g < kGroups; ++g) {
      const __mmask16 less = _mm512_cmplt_epi32_mask((__m512i)some[g], (__m512i)other);
      n_greater[g] = (I32x16)_mm512_mask_add_epi32((__m512i)n_greater[g], less, (__m512i)n_greater[g], one);
    }
#else
    for (size_t g = 0; g < kGroups; ++g) n_greater[g] = n_greater[g] - (some[g] < other);
#endif
  }
  for (size_t g = 0; g < kGroups; ++g) store(counts + 16 * g, n_greater[g]);
}

void count_greater(const int32_t* values, size_t n, int32_t* counts) {
#if defined(__AVX512F__)
  constexpr size_t kGroups = 4;
#else
  constexpr size_t kGroups = 2;  // of pairs: more would not stay in registers
#endif
  for (size_t first = 0; first < n; first += 16 * kGroups)
    count_greater_of<kGroups>(values + first, values, n, counts + first);
}
