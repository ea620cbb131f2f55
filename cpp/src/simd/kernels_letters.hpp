// Letter kernel; included by kernels_impl.hpp, in its unnamed namespace and under its rules.

// One bit for each of 64 bytes.
struct LetterBits {
  uint64_t letters, joiners, beyond, firsts;
};

inline LetterBits letter_bits(const char* text, char first) {
#if defined(__AVX512F__)
  const __m512i bytes = _mm512_loadu_si512(text), small = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
  const __mmask64 letters =
      _mm512_cmplt_epu8_mask(_mm512_sub_epi8(small, _mm512_set1_epi8('a')), _mm512_set1_epi8(26));
  const __mmask64 joiners = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\'')) |
                            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('-'));
  return {letters, joiners, _mm512_movepi8_mask(bytes),
          _mm512_cmpeq_epi8_mask(small, _mm512_set1_epi8(first))};
#elif defined(__AVX2__)
  LetterBits bits{0, 0, 0, 0};
  for (unsigned half = 0; half < 2; ++half) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32 * half));
    const __m256i small = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
    const __m256i place = _mm256_sub_epi8(small, _mm256_set1_epi8('a'));
    const __m256i letters = _mm256_cmpeq_epi8(_mm256_min_epu8(place, _mm256_set1_epi8(25)), place);
    const __m256i joiners = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\'')),
                                            _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('-')));
    const auto add = [&](uint64_t& to, __m256i lanes) {  // the highest bit of each byte
      to |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(lanes))} << (32 * half);
    };
    add(bits.letters, letters);
    add(bits.joiners, joiners);
    add(bits.beyond, bytes);
    add(bits.firsts, _mm256_cmpeq_epi8(small, _mm256_set1_epi8(first)));
  }
  return bits;
#elif defined(__SSE2__)
  LetterBits bits{0, 0, 0, 0};
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * quarter));
    const __m128i small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i place = _mm_sub_epi8(small, _mm_set1_epi8('a'));
    const __m128i letters = _mm_cmpeq_epi8(_mm_min_epu8(place, _mm_set1_epi8(25)), place);
    const __m128i joiners =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\'')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-')));
    const auto add = [&](uint64_t& to, __m128i lanes) {
      to |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(lanes))} << (16 * quarter);
    };
    add(bits.letters, letters);
    add(bits.joiners, joiners);
    add(bits.beyond, bytes);
    add(bits.firsts, _mm_cmpeq_epi8(small, _mm_set1_epi8(first)));
  }
  return bits;
#else
  LetterBits bits{0, 0, 0, 0};
  for (unsigned i = 0; i < 64; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto small = static_cast<unsigned char>(byte | 0x20);
    bits.letters |= static_cast<uint64_t>(static_cast<unsigned char>(small - 'a') < 26) << i;
    bits.joiners |= static_cast<uint64_t>(byte == '\'' || byte == '-') << i;
    bits.beyond |= static_cast<uint64_t>(byte >= 0x80) << i;
    bits.firsts |= static_cast<uint64_t>(small == static_cast<unsigned char>(first)) << i;
  }
  return bits;
#endif
}

void mark_letters(const char* text, size_t n, char first, uint64_t* letters, uint64_t* joiners,
                  uint64_t* beyond, uint64_t* firsts) {
  const auto write = [&](size_t word, const LetterBits& bits) {
    letters[word] = bits.letters;
    joiners[word] = bits.joiners;
    beyond[word] = bits.beyond;
    firsts[word] = bits.firsts;
  };
  for (size_t word = 0; word < n / 64; ++word) write(word, letter_bits(text + 64 * word, first));
  if (n % 64 == 0) return;
  char last[64] = {};
  __builtin_memcpy(last, text + n / 64 * 64, n % 64);
  write(n / 64, letter_bits(last, first));
}
