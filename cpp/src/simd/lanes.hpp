// Sixteen 32-bit lanes, the only width in which kernels are written; included by kernels_impl.hpp, in its
// unnamed namespace and under its rules.
//
// If the machine has such vectors (AVX-512) they are the compiler's own. Otherwise they are pairs of halves,
// down to the machine's width: GCC splits comparisons, selections and conversions of wider vectors lane by
// lane, which made AVX2 slower than the level below it.

typedef float F32x4 __attribute__((vector_size(16)));
typedef unsigned U32x4 __attribute__((vector_size(16)));
// Signed lanes are the type of a comparison's result: lanes of int, or of long where clang prefers it at the
// same width (Windows).
using I32x4 = decltype(U32x4{} < U32x4{1});

template <class Half>
struct Pair {
  Half low, high;
};

template <class Lanes>
inline constexpr bool kIsPair = false;
template <class Half>
inline constexpr bool kIsPair<Pair<Half>> = true;

#if defined(__AVX512F__)
typedef float F32x16 __attribute__((vector_size(64)));
typedef unsigned U32x16 __attribute__((vector_size(64)));
using I32x16 = decltype(U32x16{} < U32x16{1});
#elif defined(__AVX2__)
typedef float F32x8 __attribute__((vector_size(32)));
typedef unsigned U32x8 __attribute__((vector_size(32)));
using I32x8 = decltype(U32x8{} < U32x8{1});
using F32x16 = Pair<F32x8>;
using U32x16 = Pair<U32x8>;
using I32x16 = Pair<I32x8>;
#else
using F32x16 = Pair<Pair<F32x4>>;
using U32x16 = Pair<Pair<U32x4>>;
using I32x16 = Pair<Pair<I32x4>>;
#endif

template <class Lanes>
inline Lanes load(const void* from) {
  if constexpr (kIsPair<Lanes>) {
    using Half = decltype(Lanes::low);
    return {load<Half>(from), load<Half>(static_cast<const char*>(from) + sizeof(Half))};
  } else {
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof(lanes));
    return lanes;
  }
}

template <class Lanes>
inline void store(void* to, Lanes lanes) {
  if constexpr (kIsPair<Lanes>) {
    store(to, lanes.low);
    store(static_cast<char*>(to) + sizeof(lanes.low), lanes.high);
  } else {
    __builtin_memcpy(to, &lanes, sizeof(lanes));
  }
}

template <class Lanes, class Value>
inline Lanes all(Value value) {
  if constexpr (kIsPair<Lanes>) {
    const auto half = all<decltype(Lanes::low)>(value);
    return {half, half};
  } else {
    return value - Lanes{};  // not a sum, which would lose the sign of a negative zero
  }
}

// The same bits as another type.
template <class To, class From>
inline To as(From lanes) {
  if constexpr (kIsPair<To>) {
    return {as<decltype(To::low)>(lanes.low), as<decltype(To::low)>(lanes.high)};
  } else {
    return (To)lanes;
  }
}

// The same values as another type; floats lose their fractions.
template <class To, class From>
inline To convert(From lanes) {
  if constexpr (kIsPair<To>) {
    return {convert<decltype(To::low)>(lanes.low), convert<decltype(To::low)>(lanes.high)};
  } else {
    return __builtin_convertvector(lanes, To);
  }
}

// `yes` in the lanes where a comparison holds, `no` in the others.
template <class Mask, class Lanes>
inline Lanes select(Mask mask, Lanes yes, Lanes no) {
  if constexpr (kIsPair<Lanes>) {
    return {select(mask.low, yes.low, no.low), select(mask.high, yes.high, no.high)};
  } else {
    return mask ? yes : no;
  }
}

template <class Half>
inline Pair<Half> operator+(Pair<Half> a, Pair<Half> b) {
  return {a.low + b.low, a.high + b.high};
}
template <class Half>
inline Pair<Half> operator-(Pair<Half> a, Pair<Half> b) {
  return {a.low - b.low, a.high - b.high};
}
template <class Half>
inline Pair<Half> operator*(Pair<Half> a, Pair<Half> b) {
  return {a.low * b.low, a.high * b.high};
}
template <class Half>
inline Pair<Half> operator/(Pair<Half> a, Pair<Half> b) {
  return {a.low / b.low, a.high / b.high};
}
template <class Half>
inline Pair<Half> operator&(Pair<Half> a, Pair<Half> b) {
  return {a.low & b.low, a.high & b.high};
}
template <class Half>
inline Pair<Half> operator|(Pair<Half> a, Pair<Half> b) {
  return {a.low | b.low, a.high | b.high};
}
template <class Half>
inline Pair<Half> operator^(Pair<Half> a, Pair<Half> b) {
  return {a.low ^ b.low, a.high ^ b.high};
}
template <class Half>
inline Pair<Half> operator~(Pair<Half> a) {
  return {~a.low, ~a.high};
}
template <class Half>
inline Pair<Half> operator<<(Pair<Half> a, int bits) {
  return {a.low << bits, a.high << bits};
}
template <class Half>
inline Pair<Half> operator>>(Pair<Half> a, int bits) {
  return {a.low >> bits, a.high >> bits};
}
// Comparisons give signed lanes: all ones or all zeros.
template <class Half>
inline auto operator<(Pair<Half> a, Pair<Half> b) {
  return Pair<decltype(a.low < b.low)>{a.low < b.low, a.high < b.high};
}
template <class Half>
inline auto operator==(Pair<Half> a, Pair<Half> b) {
  return Pair<decltype(a.low == b.low)>{a.low == b.low, a.high == b.high};
}

// The greater of the two, lane by lane; the second if they are unordered.
template <class Lanes>
inline Lanes greater(Lanes a, Lanes b) {
  return select(b < a, a, b);
}
template <class Lanes>
inline Lanes lesser(Lanes a, Lanes b) {
  return select(a < b, a, b);
}
#if defined(__AVX512F__)
// One instruction, which GCC does not derive from a comparison and a selection.
inline I32x16 greater(I32x16 a, I32x16 b) { return (I32x16)_mm512_max_epi32((__m512i)a, (__m512i)b); }
inline I32x16 lesser(I32x16 a, I32x16 b) { return (I32x16)_mm512_min_epi32((__m512i)a, (__m512i)b); }
inline F32x16 greater(F32x16 a, F32x16 b) { return (F32x16)_mm512_max_ps((__m512)a, (__m512)b); }
#elif defined(__AVX2__)
inline I32x8 greater(I32x8 a, I32x8 b) { return (I32x8)_mm256_max_epi32((__m256i)a, (__m256i)b); }
inline I32x8 lesser(I32x8 a, I32x8 b) { return (I32x8)_mm256_min_epi32((__m256i)a, (__m256i)b); }
inline F32x8 greater(F32x8 a, F32x8 b) { return (F32x8)_mm256_max_ps((__m256)a, (__m256)b); }
template <class Half>
inline Pair<Half> greater(Pair<Half> a, Pair<Half> b) {
  return {greater(a.low, b.low), greater(a.high, b.high)};
}
template <class Half>
inline Pair<Half> lesser(Pair<Half> a, Pair<Half> b) {
  return {lesser(a.low, b.low), lesser(a.high, b.high)};
}
#endif

// Four lanes, into which the halves of wider vectors are folded.
template <class Four, class Lanes, class Fold>
inline Four folded(Lanes lanes, Fold fold) {
  if constexpr (sizeof(Lanes) == sizeof(Four)) {
    return lanes;
  } else if constexpr (kIsPair<Lanes>) {
    return folded<Four>(fold(lanes.low, lanes.high), fold);
  } else {
    typedef decltype(lanes[0] + lanes[0]) Half __attribute__((vector_size(sizeof(Lanes) / 2)));
    Half halves[2];  // by narrower loads, which compilers turn into extractions
    __builtin_memcpy(halves, &lanes, sizeof(lanes));
    return folded<Four>(fold(halves[0], halves[1]), fold);
  }
}

// The order of these additions (lane i with lane i + 8, + 4, + 2, + 1) is part of the result: it is the same
// at every level.
inline float sum(F32x16 lanes) {
  const F32x4 four = folded<F32x4>(lanes, [](auto a, auto b) { return a + b; });
  return (four[0] + four[2]) + (four[1] + four[3]);
}
inline uint32_t sum(U32x16 lanes) {
  const U32x4 four = folded<U32x4>(lanes, [](auto a, auto b) { return a + b; });
  return (four[0] + four[2]) + (four[1] + four[3]);
}
inline int32_t sum(I32x16 lanes) { return static_cast<int32_t>(sum(as<U32x16>(lanes))); }

// The greatest and the least lane.
template <class Four, class Lanes>
inline auto greatest(Lanes lanes) {
  const Four four = folded<Four>(lanes, [](auto a, auto b) { return greater(a, b); });
  const auto even = four[0] < four[2] ? four[2] : four[0], odd = four[1] < four[3] ? four[3] : four[1];
  return even < odd ? odd : even;
}
template <class Four, class Lanes>
inline auto least(Lanes lanes) {
  const Four four = folded<Four>(lanes, [](auto a, auto b) { return lesser(a, b); });
  const auto even = four[2] < four[0] ? four[2] : four[0], odd = four[3] < four[1] ? four[3] : four[1];
  return odd < even ? odd : even;
}

// Lane i: the value 2^i.
inline U32x16 lane_bits() {
  static constexpr uint32_t kBits[16] = {1u << 0,  1u << 1,  1u << 2,  1u << 3, 1u << 4,  1u << 5,
                                         1u << 6,  1u << 7,  1u << 8,  1u << 9, 1u << 10, 1u << 11,
                                         1u << 12, 1u << 13, 1u << 14, 1u << 15};
  return load<U32x16>(kBits);
}

// The lowest byte of each lane.
inline void store_bytes(void* to, U32x16 lanes) {
#if defined(__AVX512F__)
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_cvtepi32_epi8((__m512i)lanes));
#elif defined(__AVX2__)
  const __m256i low = (__m256i)(lanes.low & 0xffu), high = (__m256i)(lanes.high & 0xffu);
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
  _mm_storeu_si128(static_cast<__m128i*>(to),
                   _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
#else
  uint32_t wide[16];
  store(wide, lanes);
  for (int lane = 0; lane < 16; ++lane) static_cast<uint8_t*>(to)[lane] = static_cast<uint8_t>(wide[lane]);
#endif
}
