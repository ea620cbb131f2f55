// Every level of this CPU gives the bits of the baseline, and the baseline gives correct numbers.
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay::simd;

namespace {

const Kernels& baseline() { return *available_kernels().front(); }

// IEEE half precision by arithmetic in double precision.
double value_of_half(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 15 - 10);
  return half & 0x8000u ? -magnitude : magnitude;
}

uint16_t half_of(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000u : 0u);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00u);
  const int exponent = magnitude < std::ldexp(1.0, -14) ? -14 : std::ilogb(magnitude);
  // In units of the last place, ties to even; a carry out of the mantissa correctly increments the exponent.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  const uint32_t biased = units < 1024 ? 0 : static_cast<uint32_t>(exponent + 15 - 1);
  return static_cast<uint16_t>(sign | ((biased << 10) + units));
}

bool finite(uint32_t half) { return (half & 0x7c00u) != 0x7c00u; }

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

// Finite halves of any magnitude, or of that of unit vectors; some rows end in zeros, like padding.
std::vector<uint16_t> random_halves(std::mt19937& random, size_t n, bool any_magnitude) {
  std::vector<uint16_t> halves(n);
  for (uint16_t& half : halves) {
    do half = static_cast<uint16_t>(random());
    while (!finite(half));
    if (!any_magnitude) half = half_of(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f);
  }
  return halves;
}

std::vector<float> random_floats(std::mt19937& random, size_t n) {
  std::vector<float> floats(n);
  for (float& value : floats) {
    value = std::ldexp(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f,
                       static_cast<int>(random() % 24) - 12);
  }
  return floats;
}

constexpr size_t kSizes[] = {16,  32,  48,  64,   80,   128,  144,  256,  368, 384,
                             512, 768, 784, 1024, 1536, 2048, 3072, 4080, 4096};

}  // namespace

TEST(simd_tables_are_complete) {
  const auto levels = available_kernels();
  CHECK(!levels.empty());
  std::vector<std::string_view> names = {"baseline", "avx2", "avx512", "avx512-gather"};
  if (levels.size() == 4 && levels[2]->level != names[2]) std::swap(names[2], names[3]);  // faster last
  for (size_t i = 0; i < levels.size(); ++i) {
    CHECK_EQ(std::string_view(levels[i]->level), names[i]);
    CHECK(levels[i]->dot_rows_f16 && levels[i]->dot_rows_f32 && levels[i]->dot_rows_i8);
    CHECK(levels[i]->dot_f16_f16 && levels[i]->dot_f32_f32 && levels[i]->dot_i8_i8);
    CHECK(levels[i]->fill_impacts && levels[i]->accumulate && levels[i]->accumulate_directly);
    CHECK(levels[i]->group_maxima && levels[i]->harvest && levels[i]->complete &&
          levels[i]->complete_ranked && levels[i]->harvest_listed && levels[i]->kth_greatest &&
          levels[i]->keep_above && levels[i]->to_f16 && levels[i]->from_f16);
  }
  bool chosen = false;
  for (const Kernels* level : levels) chosen |= &kernels() == level;
  CHECK(chosen);
}

TEST(simd_from_f16_is_exact_at_every_level) {
  std::vector<uint16_t> halves;
  for (uint32_t half = 0; half < 65536; ++half) {
    if (finite(half)) halves.push_back(static_cast<uint16_t>(half));  // an index never holds infinities
  }
  for (const Kernels* level : available_kernels()) {
    std::vector<float> floats(halves.size());
    level->from_f16(halves.data(), halves.size(), floats.data());
    for (size_t i = 0; i < halves.size(); ++i) {
      CHECK(static_cast<double>(floats[i]) == value_of_half(halves[i]));
      CHECK_EQ(std::signbit(floats[i]), (halves[i] & 0x8000u) != 0);
    }
    std::vector<uint16_t> back(halves.size());
    level->to_f16(floats.data(), floats.size(), back.data());
    CHECK(back == halves);
    for (size_t n = 0; n <= 50; ++n) {  // any count, not only whole registers; nothing written past the end
      std::vector<float> few(n + 1, 7.0f);
      level->from_f16(halves.data() + 1000, n, few.data());
      CHECK(std::equal(few.begin(), few.end() - 1, floats.begin() + 1000));
      CHECK(few.back() == 7.0f);
    }
  }
}

TEST(simd_to_f16_rounds_to_nearest_even_at_every_level) {
  using limits = std::numeric_limits<float>;
  std::vector<float> floats{0.0f,
                            -0.0f,
                            limits::denorm_min(),
                            -limits::denorm_min(),
                            limits::min(),
                            limits::max(),
                            limits::lowest(),
                            limits::infinity(),
                            -limits::infinity(),
                            65504.0f,
                            65519.996f,
                            65520.0f,
                            65536.0f,
                            -65520.0f,
                            0x1p-24f,
                            0x1p-25f,
                            0x1.000002p-25f,
                            0x1.8p-24f,
                            0x1p-14f,
                            0x1.ffcp-15f,
                            0x1.ffep-15f,
                            0x1.fffffep-15f};
  for (uint32_t half = 0; half < 0x7c00u; ++half) {  // the midpoint of two halves, and its neighbours
    const auto middle = static_cast<float>(
        (value_of_half(static_cast<uint16_t>(half)) + value_of_half(static_cast<uint16_t>(half + 1))) / 2);
    if (half + 1 == 0x7c00u) break;
    for (const float value : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e9f)}) {
      floats.push_back(value);
      floats.push_back(-value);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(value)) floats.push_back(value);
  }
  for (const Kernels* level : available_kernels()) {
    std::vector<uint16_t> halves(floats.size());
    level->to_f16(floats.data(), floats.size(), halves.data());
    for (size_t i = 0; i < floats.size(); ++i) CHECK_EQ(halves[i], half_of(floats[i]));
    const float nan = limits::quiet_NaN();
    uint16_t half = 0;
    level->to_f16(&nan, 1, &half);
    CHECK((half & 0x7c00u) == 0x7c00u && (half & 0x3ffu) != 0);
  }
}

TEST(simd_dot_products_have_the_same_bits_at_every_level) {
  std::mt19937 random(2);
  const size_t n_rows = 9;
  for (const size_t n : kSizes) {
    for (const bool any_magnitude : {false, true}) {
      std::vector<uint16_t> halves = random_halves(random, n_rows * n, any_magnitude);
      std::vector<float> singles = random_floats(random, n_rows * n), query = random_floats(random, n);
      for (size_t i = n - random() % 16; i < n; ++i) {
        query[i] = 0.0f;
        for (size_t r = 0; r < n_rows; ++r) {
          halves[r * n + i] = 0;
          singles[r * n + i] = 0.0f;
        }
      }
      std::vector<float> expected_f16(n_rows), expected_f32(n_rows), got(n_rows);
      baseline().dot_rows_f16(halves.data(), n_rows, n, query.data(), expected_f16.data());
      baseline().dot_rows_f32(singles.data(), n_rows, n, query.data(), expected_f32.data());
      for (const Kernels* level : available_kernels()) {
        level->dot_rows_f16(halves.data(), n_rows, n, query.data(), got.data());
        for (size_t r = 0; r < n_rows; ++r) CHECK_EQ(bits(got[r]), bits(expected_f16[r]));
        level->dot_rows_f32(singles.data(), n_rows, n, query.data(), got.data());
        for (size_t r = 0; r < n_rows; ++r) {
          CHECK_EQ(bits(got[r]), bits(expected_f32[r]));
          // A row alone, against the query as a row, gives the same sum.
          CHECK_EQ(bits(level->dot_f32_f32(singles.data() + r * n, query.data(), n)), bits(expected_f32[r]));
        }
        std::vector<const uint16_t*> picked_halves;
        std::vector<const float*> picked_singles;
        for (size_t r = n_rows; r-- > 0;) {
          picked_halves.push_back(halves.data() + r * n);
          picked_singles.push_back(singles.data() + r * n);
        }
        for (size_t n_picked = 0; n_picked <= n_rows; ++n_picked) {
          level->dot_picked_rows_f16(picked_halves.data(), n_picked, n, query.data(), got.data());
          for (size_t i = 0; i < n_picked; ++i) CHECK_EQ(bits(got[i]), bits(expected_f16[n_rows - 1 - i]));
          level->dot_picked_rows_f32(picked_singles.data(), n_picked, n, query.data(), got.data());
          for (size_t i = 0; i < n_picked; ++i) CHECK_EQ(bits(got[i]), bits(expected_f32[n_rows - 1 - i]));
        }
        const uint16_t* a = halves.data();
        const uint16_t* b = halves.data() + n;
        std::vector<float> wide(n);
        level->from_f16(b, n, wide.data());
        level->dot_rows_f16(a, 1, n, wide.data(), got.data());
        CHECK_EQ(bits(level->dot_f16_f16(a, b, n)), bits(got[0]));
        CHECK_EQ(bits(level->dot_f16_f16(a, b, n)), bits(baseline().dot_f16_f16(a, b, n)));
      }
    }
  }
}

TEST(simd_dot_products_of_bytes_have_the_same_bits_at_every_level_and_are_those_of_floats) {
  std::mt19937 random(8);
  const size_t n_rows = 9;
  for (const size_t n : kSizes) {
    std::vector<int8_t> bytes(n_rows * n);
    for (int8_t& byte : bytes) byte = static_cast<int8_t>(static_cast<int>(random() % 256) - 128);
    const std::vector<float> floats(bytes.begin(), bytes.end()), query = random_floats(random, n);
    std::vector<float> expected(n_rows), got(n_rows);
    baseline().dot_rows_f32(floats.data(), n_rows, n, query.data(), expected.data());
    std::vector<const int8_t*> picked;
    for (size_t r = n_rows; r-- > 0;) picked.push_back(bytes.data() + r * n);
    for (const Kernels* level : available_kernels()) {
      level->dot_rows_i8(bytes.data(), n_rows, n, query.data(), got.data());
      for (size_t r = 0; r < n_rows; ++r) CHECK_EQ(bits(got[r]), bits(expected[r]));
      for (size_t n_picked = 0; n_picked <= n_rows; ++n_picked) {
        level->dot_picked_rows_i8(picked.data(), n_picked, n, query.data(), got.data());
        for (size_t i = 0; i < n_picked; ++i) CHECK_EQ(bits(got[i]), bits(expected[n_rows - 1 - i]));
      }
      int64_t exact = 0;
      for (size_t i = 0; i < n; ++i) exact += int64_t{bytes[i]} * int64_t{bytes[n + i]};
      CHECK(level->dot_i8_i8(bytes.data(), bytes.data() + n, n) == static_cast<float>(exact));
    }
  }
}

TEST(simd_dot_products_are_right) {
  std::mt19937 random(3);
  for (const size_t n : kSizes) {
    const std::vector<uint16_t> row = random_halves(random, n, false);
    const std::vector<float> query = random_floats(random, n);
    double exact = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < n; ++i) {
      const double product = value_of_half(row[i]) * static_cast<double>(query[i]);
      exact += product;
      magnitude += std::fabs(product);
    }
    float got = 0.0f;
    baseline().dot_rows_f16(row.data(), 1, n, query.data(), &got);
    // Each product passes at most n/64 + 7 roundings.
    CHECK(std::fabs(static_cast<double>(got) - exact) <=
          magnitude * (static_cast<double>(n) / 64 + 8) * 0x1p-24);
  }
  float nothing = 1.0f;
  baseline().dot_rows_f32(nullptr, 0, 16, nullptr, &nothing);
  CHECK(nothing == 1.0f);
}
