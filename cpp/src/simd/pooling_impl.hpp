// Sums of scattered rows: the pooling of a static embedder. Included by kernels_impl.hpp and under its rules.

template <class Element>
inline void sum_rows(const Element* rows, const uint32_t* ids, size_t n, size_t n_elements, float* out) {
  // Rows are scattered over megabytes: prefetch as many as a core can track before the first is needed.
  constexpr size_t kLine = 64 / sizeof(Element), kAhead = 8;
  const auto fetch = [&](size_t i) {
    const Element* row = rows + ids[i] * n_elements;
    for (size_t e = 0; e < n_elements; e += kLine) __builtin_prefetch(row + e);
  };
  for (size_t i = 0; i < n && i < kAhead; ++i) fetch(i);
  const F32x16 zero = {};
  for (size_t e = 0; e < n_elements; e += 16) store(out + e, zero);
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) fetch(i + kAhead);
    const Element* row = rows + ids[i] * n_elements;
    for (size_t e = 0; e < n_elements; e += 16) store(out + e, load<F32x16>(out + e) + widen(row + e));
  }
}

void sum_rows_f16(const uint16_t* rows, const uint32_t* ids, size_t n, size_t n_elements, float* out) {
  sum_rows(rows, ids, n, n_elements, out);
}
void sum_rows_f32(const float* rows, const uint32_t* ids, size_t n, size_t n_elements, float* out) {
  sum_rows(rows, ids, n, n_elements, out);
}

// Converts signed bytes to floats.
inline F32x16 widen_bytes(const int8_t* from) {
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

void sum_rows_i8(const int8_t* rows, const float* factors, const uint32_t* ids, size_t n, size_t n_elements,
                 float* out) {
  constexpr size_t kLine = 64, kAhead = 8;
  const auto fetch = [&](size_t i) {
    const int8_t* row = rows + ids[i] * n_elements;
    for (size_t e = 0; e < n_elements; e += kLine) __builtin_prefetch(row + e);
  };
  for (size_t i = 0; i < n && i < kAhead; ++i) fetch(i);
  const F32x16 zero = {};
  for (size_t e = 0; e < n_elements; e += 16) store(out + e, zero);
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) fetch(i + kAhead);
    const int8_t* row = rows + ids[i] * n_elements;
    const F32x16 factor = all<F32x16>(factors[ids[i]]);
    for (size_t e = 0; e < n_elements; e += 16)
      store(out + e, load<F32x16>(out + e) + factor * widen_bytes(row + e));
  }
}
