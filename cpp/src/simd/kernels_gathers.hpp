// Kernels that use gathers, sixteen lookups per instruction; included by kernels_impl.hpp inside its unnamed
// namespace and under its rules. On Intel's CPUs they are ten to fifty per cent faster than the plain loops,
// on AMD's they take twice as long; dispatch.cpp selects by CPU.
//
// Ten to twenty per cent faster than the plain loop; the offsets are distinct.
void accumulate_by_gathers(const uint16_t* offsets, const uint16_t* payloads, size_t n, const uint32_t* table,
                           uint32_t* sums) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i at =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(offsets + i)));
    const __m512i payload =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(payloads + i)));
    const __m512i impact = _mm512_i32gather_epi32(payload, table, 4);
    _mm512_i32scatter_epi32(sums, at, _mm512_add_epi32(_mm512_i32gather_epi32(at, sums, 4), impact), 4);
  }
  accumulate(offsets + i, payloads + i, n - i, table, sums);
}

size_t harvest_listed_by_gathers(const uint16_t* offsets, size_t n, uint32_t* sums, uint32_t threshold,
                                 uint32_t* positions, uint32_t* scores) {
  size_t n_found = 0, i = 0;
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(threshold));
  for (; i + 16 <= n; i += 16) {
    const __m512i at =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(offsets + i)));
    const __m512i sum = _mm512_i32gather_epi32(at, sums, 4);
    _mm512_i32scatter_epi32(sums, at, _mm512_setzero_si512(), 4);
    const __mmask16 found = _mm512_cmpgt_epu32_mask(sum, limit);
    _mm512_storeu_si512(positions + n_found, _mm512_maskz_compress_epi32(found, at));
    _mm512_storeu_si512(scores + n_found, _mm512_maskz_compress_epi32(found, sum));
    n_found += static_cast<size_t>(__builtin_popcount(bits_of(found)));
  }
  return n_found + harvest_listed(offsets + i, n - i, sums, threshold, positions + n_found, scores + n_found);
}

// Processes kVectors vectors of 16 candidates at once: one branchless bisection for all lanes, by gathers,
// whose latencies overlap between vectors. Returns how many of the n_candidates, at most 16 * kVectors, it
// kept; they are written to kept_positions and kept_scores, which are not after the data being read.
template <int kVectors>
inline size_t complete_vectors(const uint16_t* offsets, const uint16_t* payloads, uint32_t n, float weight,
                               uint32_t count, const float* norms, uint32_t rest, uint32_t threshold,
                               const uint32_t* positions, const uint32_t* scores, size_t n_candidates,
                               uint32_t* kept_positions, uint32_t* kept_scores) {
  const __m512i low_half = _mm512_set1_epi32(0xffff);
  __m512i wanted[kVectors], score[kVectors];
  __mmask16 lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const size_t first = static_cast<size_t>(v) * 16,
                 n_left = n_candidates > first ? n_candidates - first : 0;
    lanes[v] = static_cast<__mmask16>(n_left < 16 ? (1u << n_left) - 1 : 0xffffu);
    wanted[v] = _mm512_maskz_loadu_epi32(lanes[v], positions + first);
    score[v] = _mm512_maskz_loadu_epi32(lanes[v], scores + first);
  }
  if (n != 0) {
    // Invariant: the last offset <= wanted, if it exists, is in [at, at + left).
    __m512i at[kVectors];
    for (int v = 0; v < kVectors; ++v) at[v] = _mm512_setzero_si512();
    for (uint32_t left = n; left > 1;) {
      const uint32_t half = left / 2;
      const __m512i step = _mm512_set1_epi32(static_cast<int>(half));
      for (int v = 0; v < kVectors; ++v) {
        const __m512i middle = _mm512_add_epi32(at[v], step);
        const __m512i offset = _mm512_and_si512(_mm512_i32gather_epi32(middle, offsets, 2), low_half);
        at[v] = _mm512_mask_mov_epi32(at[v], _mm512_cmple_epu32_mask(offset, wanted[v]), middle);
      }
      left -= half;
    }
    for (int v = 0; v < kVectors; ++v) {
      const __m512i offset = _mm512_and_si512(_mm512_i32gather_epi32(at[v], offsets, 2), low_half);
      const __mmask16 found = _mm512_mask_cmpeq_epu32_mask(lanes[v], offset, wanted[v]);
      if (bits_of(found) == 0) continue;
      const __m512i payload =
          _mm512_and_si512(_mm512_mask_i32gather_epi32(low_half, found, at[v], payloads, 2), low_half);
      const __m512i length = _mm512_and_si512(payload, _mm512_set1_epi32(0x7ff));
      const __m512 one = _mm512_set1_ps(1.0f);
      const __m512 norm = _mm512_mask_i32gather_ps(one, found, length, norms, 4);
      const __m512 tf = _mm512_cvtepi32_ps(_mm512_srli_epi32(payload, 11));
      const U32x16 impact = contributions(weight, (F32x16)tf, (F32x16)norm) * count;
      score[v] = _mm512_mask_add_epi32(score[v], found, score[v], (__m512i)impact);
    }
  }
  size_t n_kept = 0;
  for (int v = 0; v < kVectors; ++v) {
    const __m512i best = _mm512_add_epi32(score[v], _mm512_set1_epi32(static_cast<int>(rest)));
    const __mmask16 kept =
        _mm512_mask_cmpgt_epu32_mask(lanes[v], best, _mm512_set1_epi32(static_cast<int>(threshold)));
    _mm512_storeu_si512(kept_positions + n_kept, _mm512_maskz_compress_epi32(kept, wanted[v]));
    _mm512_storeu_si512(kept_scores + n_kept, _mm512_maskz_compress_epi32(kept, score[v]));
    n_kept += static_cast<size_t>(__builtin_popcount(bits_of(kept)));
  }
  return n_kept;
}

size_t complete_by_gathers(const uint16_t* offsets, const uint16_t* payloads, uint32_t n, float weight,
                           uint32_t count, const float* norms, uint32_t rest, uint32_t threshold,
                           uint32_t* positions, uint32_t* scores, size_t n_candidates) {
  size_t n_kept = 0, i = 0;
  const auto some = [&](auto complete_some, size_t n_some) {
    n_kept += complete_some(offsets, payloads, n, weight, count, norms, rest, threshold, positions + i,
                            scores + i, n_some, positions + n_kept, scores + n_kept);
    i += n_some;
  };
  while (n_candidates - i > 32) some(complete_vectors<4>, n_candidates - i < 64 ? n_candidates - i : 64);
  if (n_candidates - i > 16) some(complete_vectors<2>, n_candidates - i);
  if (n_candidates - i > 0) some(complete_vectors<1>, n_candidates - i);
  return n_kept;
}

constexpr Kernels with_gathers(Kernels kernels) {
  kernels.level = SCRUBJAY_LEVEL_NAME "-gather";
  kernels.accumulate = accumulate_by_gathers;
  kernels.harvest_listed = harvest_listed_by_gathers;
  kernels.complete = complete_by_gathers;
  return kernels;
}
