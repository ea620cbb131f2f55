// Kernels over ranked bitmaps (lexical/ranked_bitmap.hpp); included by kernels_impl.hpp inside its unnamed
// namespace and under its rules.
//
// Adds lanes [0, n) of `gained` to the scores of candidates [at, at + n) and moves those that can still
// exceed the threshold to n_kept, which is not after `at`. Returns the new number of kept candidates.
inline size_t keep_completed(U32x16 gained, uint32_t rest, uint32_t threshold, uint32_t* positions,
                             uint32_t* scores, size_t at, size_t n, size_t n_kept) {
#if defined(__AVX512F__)
  const auto lanes = static_cast<__mmask16>((1u << n) - 1);
  const __m512i position = _mm512_maskz_loadu_epi32(lanes, positions + at);
  const __m512i score = _mm512_add_epi32(_mm512_maskz_loadu_epi32(lanes, scores + at), (__m512i)gained);
  const __m512i best = _mm512_add_epi32(score, _mm512_set1_epi32(static_cast<int>(rest)));
  const __mmask16 kept =
      _mm512_mask_cmpgt_epu32_mask(lanes, best, _mm512_set1_epi32(static_cast<int>(threshold)));
  _mm512_storeu_si512(positions + n_kept, _mm512_maskz_compress_epi32(kept, position));
  _mm512_storeu_si512(scores + n_kept, _mm512_maskz_compress_epi32(kept, score));
  return n_kept + static_cast<size_t>(__builtin_popcount(bits_of(kept)));
#else
  uint32_t gains[16];
  store(gains, gained);
  for (size_t lane = 0; lane < n; ++lane) {
    const uint32_t score = scores[at + lane] + gains[lane];
    positions[n_kept] = positions[at + lane];
    scores[n_kept] = score;
    n_kept += score + rest > threshold ? 1 : 0;
  }
  return n_kept;
#endif
}

// In rounds of two passes, so that numbers stored one by one in the first pass have reached the cache before
// the second loads them as vectors.
size_t complete_ranked(const uint64_t* words, uint32_t n_words, const uint16_t* payloads, float weight,
                       uint32_t count, const float* norms, uint32_t rest, uint32_t threshold,
                       uint32_t* positions, uint32_t* scores, size_t n_candidates) {
  constexpr size_t kRound = 64;
  size_t n_kept = 0;
  uint32_t frequencies[kRound];  // 0: not in the list
  float lengths[kRound];
  for (size_t begin = 0; begin < n_candidates; begin += kRound) {
    const size_t n = n_candidates - begin < kRound ? n_candidates - begin : kRound;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t wanted = positions[begin + i], at = wanted / kRankedDocs, bit = wanted % kRankedDocs;
      const uint64_t word = at < n_words ? __atomic_load_n(words + at, __ATOMIC_RELAXED) : 0;
      const uint32_t held = 0u - static_cast<uint32_t>((word >> bit) & 1u);
      // If the document is not in the list, the word may be newer than the list.
      const auto rank = static_cast<uint32_t>(word >> kRankedDocs) +
                        static_cast<uint32_t>(n_bits_of(word & ((uint64_t{1} << bit) - 1)));
      const uint32_t payload = payloads[rank & held];
      frequencies[i] = (payload >> 11) & held;
      lengths[i] = norms[payload & 0x7ffu];
    }
    for (size_t i = n; i % 16 != 0; ++i) {
      frequencies[i] = 0;
      lengths[i] = 1.0f;
    }
    for (size_t i = 0; i < n; i += 16) {
      const I32x16 frequency = load<I32x16>(frequencies + i);
      const U32x16 impact =
          contributions(weight, convert<F32x16>(frequency), load<F32x16>(lengths + i)) * all<U32x16>(count);
      n_kept = keep_completed(select(I32x16{} < frequency, impact, U32x16{}), rest, threshold, positions,
                              scores, begin + i, n - i < 16 ? n - i : 16, n_kept);
    }
  }
  return n_kept;
}
