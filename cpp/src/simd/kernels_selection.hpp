// Kernels that select among candidates; included by kernels_impl.hpp inside its unnamed namespace, where its
// rules hold.

// How many values exceed `bound`.
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

uint32_t kth_greatest(const uint32_t* values, size_t n, size_t k, uint32_t below) {
  size_t i = 0;
  auto most_lanes = all<I32x16>(static_cast<int>(below));
  for (; i + 16 <= n; i += 16) most_lanes = greater(load<I32x16>(values + i), most_lanes);
  auto most = static_cast<uint32_t>(greatest<I32x4>(most_lanes));
  for (; i < n; ++i) most = values[i] > most ? values[i] : most;
  // Invariant: at least k values exceed `low`, fewer than k exceed `high`. (The caller may err about the
  // first; then `below` it is.)
  uint32_t low = below, high = most;
  bool reached = false;
  while (high > low + 1) {
    const uint32_t middle = low + (high - low) / 2;
    const size_t n_above = count_above(values, n, middle);
    if (n_above >= k) {
      low = middle;
      reached = true;
      if (n_above == k) break;
    } else {
      high = middle;
    }
  }
  if (!reached && count_above(values, n, low) < k) return below;
  // The least value above `low`.
  const auto limit = all<I32x16>(static_cast<int>(low));
  auto least_lanes = all<I32x16>(static_cast<int>(most));
  for (i = 0; i + 16 <= n; i += 16) {
    const I32x16 value = load<I32x16>(values + i), candidate = select(limit < value, value, least_lanes);
    least_lanes = select(candidate < least_lanes, candidate, least_lanes);
  }
  auto kth = static_cast<uint32_t>(least<I32x4>(least_lanes));
  for (; i < n; ++i) kth = values[i] > low && values[i] < kth ? values[i] : kth;
  return kth;
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
