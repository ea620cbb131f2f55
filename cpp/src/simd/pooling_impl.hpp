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
      store(out + e, load<F32x16>(out + e) + factor * widen(row + e));
  }
}
