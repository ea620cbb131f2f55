// Kernels of signs (vector/signs.hpp): included by kernels_impl.hpp, in its unnamed namespace and under its
// rules. Sums of integers, so they are equal at every level.

typedef unsigned char U8x16 __attribute__((vector_size(16)));
typedef unsigned short U16x8 __attribute__((vector_size(16)));

// A vector of equal bytes: the lowest byte of a signed number.
inline U8x16 all_bytes(int value) { return static_cast<unsigned char>(value) - U8x16{}; }

// Lane i is all ones if bit `bit` of i is set.
inline U8x16 lanes_with_bit(unsigned bit) {
  const U8x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const U8x16 one = all_bytes(1 << bit);
  return (U8x16)((lanes & one) == one);
}

int32_t sign_tables(const int8_t* elements, size_t n_fours, uint8_t* tables) {
  const U8x16 with[4] = {lanes_with_bit(0), lanes_with_bit(1), lanes_with_bit(2), lanes_with_bit(3)};
  int32_t magnitudes = 0;
  for (size_t four = 0; four < n_fours; ++four, elements += 4, tables += 16) {
    int sum = 0, magnitude = 0;
    U8x16 sums = {};
    for (unsigned i = 0; i < 4; ++i) {
      const int element = elements[i];
      sum += element;
      magnitude += element < 0 ? -element : element;
      sums = sums + (with[i] & all_bytes(element));
    }
    store(tables, sums + all_bytes((magnitude - sum) / 2));  // minus the least sum
    magnitudes += magnitude;
  }
  return magnitudes;
}

#if defined(__AVX2__)
// Two sums of sixteen bytes each, in 16-bit lanes: `both` has the even bytes plus 256 times the odd ones,
// `odd` the odd bytes. Writes the sums of 32 documents in order.
inline void put_sums(__m256i both, __m256i odd, int32_t* out) {
  const __m256i even = _mm256_sub_epi16(both, _mm256_slli_epi16(odd, 8));
  const auto put = [&](__m256i words, int32_t* to) {  // eight documents in each half
    const __m256i sums = _mm256_add_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(words)),
                                          _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums);
  };
  put(_mm256_unpacklo_epi16(even, odd), out);
  put(_mm256_unpackhi_epi16(even, odd), out + 8);
}
#endif

// Two sums of four elements fit into a byte, and kMostFours of them into a 16-bit lane, since every second
// one is added to another lane.
#if defined(__AVX512F__)
inline void sum_plane(const uint8_t* plane, size_t n_fours, const uint8_t* tables, int32_t* out) {
  const __m512i low = _mm512_set1_epi8(0x0f);
  __m512i both[2] = {}, odd[2] = {};
  const auto add = [&](int half, __m512i sums) {
    both[half] = _mm512_add_epi16(both[half], sums);
    odd[half] = _mm512_add_epi16(odd[half], _mm512_srli_epi16(sums, 8));
  };
  for (size_t byte = 0; byte < 16 * n_fours; byte += 128) {
    const __m512i first = _mm512_loadu_si512(plane + byte), second = _mm512_loadu_si512(plane + byte + 64);
    const __m512i table = _mm512_loadu_si512(tables + byte), other = _mm512_loadu_si512(tables + byte + 64);
    add(0, _mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(first, low)),
                           _mm512_shuffle_epi8(other, _mm512_and_si512(second, low))));
    add(1, _mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(first, 4), low)),
                           _mm512_shuffle_epi8(other, _mm512_and_si512(_mm512_srli_epi16(second, 4), low))));
  }
  const auto halves_added = [](__m512i lanes) {
    __m256i halves[2];
    __builtin_memcpy(halves, &lanes, sizeof(lanes));
    return _mm256_add_epi16(halves[0], halves[1]);
  };
  for (int half = 0; half < 2; ++half)
    put_sums(halves_added(both[half]), halves_added(odd[half]), out + 16 * half);
}
#elif defined(__AVX2__)
inline void sum_plane(const uint8_t* plane, size_t n_fours, const uint8_t* tables, int32_t* out) {
  const __m256i low = _mm256_set1_epi8(0x0f);
  __m256i both[2] = {}, odd[2] = {};
  const auto add = [&](int half, __m256i sums) {
    both[half] = _mm256_add_epi16(both[half], sums);
    odd[half] = _mm256_add_epi16(odd[half], _mm256_srli_epi16(sums, 8));
  };
  for (size_t byte = 0; byte < 16 * n_fours; byte += 64) {
    const __m256i first = lanes_at(plane + byte), second = lanes_at(plane + byte + 32);
    const __m256i table = lanes_at(tables + byte), other = lanes_at(tables + byte + 32);
    add(0, _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(first, low)),
                           _mm256_shuffle_epi8(other, _mm256_and_si256(second, low))));
    add(1, _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(first, 4), low)),
                           _mm256_shuffle_epi8(other, _mm256_and_si256(_mm256_srli_epi16(second, 4), low))));
  }
  for (int half = 0; half < 2; ++half) put_sums(both[half], odd[half], out + 16 * half);
}
#else
inline void sum_plane(const uint8_t* plane, size_t n_fours, const uint8_t* tables, int32_t* out) {
  constexpr size_t kFit = 512;  // sums of four in 16 bits
  uint32_t totals[32] = {};
  for (size_t first = 0; first < n_fours; first += kFit) {
    const size_t end = first + kFit < n_fours ? first + kFit : n_fours;
    U16x8 even[2] = {}, odd[2] = {};
    for (size_t four = first; four < end; ++four) {
      const uint8_t* table = tables + 16 * four;
      const U8x16 bits = load<U8x16>(plane + 16 * four);
      for (unsigned half = 0; half < 2; ++half) {
        U8x16 sums = all_bytes(table[0]);  // no shuffle here: the elements whose bits are set are added
        for (unsigned i = 0; i < 4; ++i) {
          const U8x16 bit = all_bytes(1 << (4 * half + i));
          sums = sums + ((U8x16)((bits & bit) == bit) & all_bytes(table[size_t{1} << i] - table[0]));
        }
        const U16x8 pairs = (U16x8)sums;
        even[half] = even[half] + (pairs & 0x00ffu);
        odd[half] = odd[half] + (pairs >> 8);
      }
    }
    for (size_t i = 0; i < 32; ++i) totals[i] += (i % 2 == 0 ? even : odd)[i / 16][i % 16 / 2];
  }
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<int32_t>(totals[i]);
}
#endif

void sum_signs(const uint8_t* planes, size_t n_planes, size_t n_fours, const uint8_t* tables, int32_t* out) {
  for (size_t p = 0; p < n_planes; ++p, planes += 16 * n_fours, out += kPlaneDocs)
    sum_plane(planes, n_fours, tables, out);
}
