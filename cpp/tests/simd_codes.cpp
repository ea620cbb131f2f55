// The kernels of vector codes give the same, correct numbers at every level.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay::simd;

namespace {

constexpr size_t kDims = 128;

std::vector<float> numbers(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& x : out) x = normal(random);
  return out;
}

std::vector<uint8_t> bytes(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> out(n);
  for (uint8_t& x : out) x = static_cast<uint8_t>(random());
  return out;
}

// Element i of a row of codes.
int code_of(const uint8_t* row, size_t i) {
  const uint8_t byte = row[i / kDims * 64 + i % 64];
  return i % kDims < 64 ? byte & 15 : byte >> 4;
}

}  // namespace

TEST(rotation_is_the_walsh_hadamard_transform_of_dealt_groups) {
  for (const size_t n_blocks : {1u, 2u, 3u, 8u}) {
    for (const size_t n_groups : {n_blocks * 8, n_blocks * 8 - 3}) {
      const std::vector<float> vector = numbers(n_groups * 16, 3);
      std::vector<uint16_t> signs(n_groups);
      std::mt19937 random(5);
      for (uint16_t& bits : signs) bits = static_cast<uint16_t>(random());
      std::vector<double> dealt(n_blocks * kDims, 0.0);
      for (size_t i = 0; i < vector.size(); ++i) {
        const size_t group = i / 16, block = group % n_blocks, place = group / n_blocks;
        dealt[block * kDims + place * 16 + i % 16] = (signs[group] >> (i % 16)) & 1 ? -vector[i] : vector[i];
      }
      std::vector<float> first;
      for (const Kernels* level : available_kernels()) {
        std::vector<float> out(n_blocks * kDims);
        const float greatest = level->rotate(vector.data(), n_groups, signs.data(), n_blocks, out.data());
        float expected_greatest = 0.0f;
        for (size_t i = 0; i < out.size(); ++i) {
          double expected = 0.0;
          for (size_t j = 0; j < kDims; ++j) {
            const bool minus = std::popcount(static_cast<unsigned>((i % kDims) & j)) % 2 != 0;
            expected += (minus ? -1.0 : 1.0) * dealt[i / kDims * kDims + j];
          }
          CHECK(std::fabs(expected - static_cast<double>(out[i])) < 1e-4);
          expected_greatest = std::max(expected_greatest, std::fabs(out[i]));
        }
        CHECK_EQ(greatest, expected_greatest);
        if (first.empty()) first = out;
        CHECK_EQ(out, first);
      }
    }
  }
}

TEST(encoding_clamps_and_measures) {
  const size_t n_blocks = 3, n = n_blocks * kDims;
  std::vector<float> values = numbers(n, 11);
  values[5] = 100.0f;
  values[200] = -100.0f;
  const float per_step = 2.5f;
  std::vector<uint8_t> first;
  for (const Kernels* level : available_kernels()) {
    std::vector<uint8_t> codes(n / 2);
    uint32_t square = 0;
    const float along = level->encode(values.data(), n_blocks, per_step, codes.data(), &square);
    double expected_along = 0.0;
    uint32_t expected_square = 0;
    for (size_t i = 0; i < n; ++i) {
      const int code = code_of(codes.data(), i);
      CHECK_EQ(code, std::clamp(static_cast<int>(std::floor(values[i] * per_step + 8.0f)), 0, 15));
      expected_along += static_cast<double>(values[i]) * (2 * code - 15);
      expected_square += static_cast<uint32_t>((2 * code - 15) * (2 * code - 15));
    }
    CHECK(std::fabs(expected_along - static_cast<double>(along)) < 1e-3 * std::fabs(expected_along));
    CHECK_EQ(square, expected_square);
    if (first.empty()) first = codes;
    CHECK_EQ(codes, first);
  }
}

TEST(quantising_rounds_half_away_from_zero) {
  const std::vector<float> values{0.5f, -0.5f, 1.49f, -1.49f, 127.0f, -127.0f, 0.0f, 2.5f,
                                  3.4f, -3.4f, 10.0f, -10.0f, 0.4f,   -0.4f,   1.5f, -2.5f};
  const std::vector<int8_t> expected{1, -1, 1, -1, 127, -127, 0, 3, 3, -3, 10, -10, 0, 0, 2, -3};
  for (const Kernels* level : available_kernels()) {
    std::vector<int8_t> out(16);
    CHECK_EQ(level->quantise(values.data(), 16, 1.0f, out.data()), 2);
    CHECK_EQ(out, expected);
  }
}

TEST(products_of_codes_are_whole_and_the_same_everywhere) {
  for (const size_t n_blocks : {1u, 2u, 3u, 4u, 32u}) {
    for (const size_t n_rows : {1u, 15u, 16u, 17u, 40u}) {
      // The scan prefetches rows ahead, which is harmless beyond the end.
      const std::vector<uint8_t> rows = bytes(n_rows * n_blocks * 64, 17);
      const std::vector<uint8_t> drawn = bytes(n_blocks * kDims, 19);
      std::vector<int8_t> query(drawn.size());
      for (size_t i = 0; i < query.size(); ++i) query[i] = static_cast<int8_t>(drawn[i] % 255 - 127);
      for (const Kernels* level : available_kernels()) {
        std::vector<int32_t> out(n_rows, -1);
        level->dot_codes(rows.data(), n_rows, n_blocks, query.data(), out.data());
        for (size_t r = 0; r < n_rows; ++r) {
          const uint8_t* row = rows.data() + r * n_blocks * 64;
          int32_t expected = 0, expected_pair = 0;
          for (size_t i = 0; i < query.size(); ++i) {
            expected += code_of(row, i) * query[i];
            expected_pair += (2 * code_of(row, i) - 15) * (2 * code_of(rows.data(), i) - 15);
          }
          CHECK_EQ(out[r], expected);
          CHECK_EQ(level->dot_code_pair(row, rows.data(), n_blocks), expected_pair);
        }
      }
    }
  }
}

// Extremes: every product as large as possible.
TEST(products_of_codes_do_not_overflow) {
  const size_t n_blocks = 32;
  const std::vector<uint8_t> rows(16 * n_blocks * 64, 0xff);
  for (const int8_t extreme : {int8_t{127}, int8_t{-127}}) {
    const std::vector<int8_t> query(n_blocks * kDims, extreme);
    for (const Kernels* level : available_kernels()) {
      std::vector<int32_t> out(16);
      level->dot_codes(rows.data(), 16, n_blocks, query.data(), out.data());
      for (const int32_t dot : out) CHECK_EQ(dot, 15 * extreme * static_cast<int32_t>(query.size()));
    }
  }
}

TEST(bounds_order_like_the_floats_and_are_selected) {
  const size_t n = 75;
  std::mt19937 random(23);
  std::vector<int32_t> dots(n);
  for (int32_t& dot : dots) dot = static_cast<int32_t>(random() % 20000) - 10000;
  std::vector<float> factors = numbers(n, 29), given_biases = numbers(n, 37), given_errors = numbers(n, 31);
  std::vector<uint16_t> errors(n);
  given_errors[3] = -INFINITY;
  given_errors[70] = INFINITY;
  for (size_t i = 0; i < n; ++i) {
    errors[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(given_errors[i]) >> 16);
    given_errors[i] = std::bit_cast<float>(uint32_t{errors[i]} << 16);
  }
  std::vector<uint32_t> first[2];
  for (const Kernels* level : available_kernels()) {
    std::vector<uint32_t> bounds(80, 0);
    std::vector<std::pair<float, uint32_t>> order;
    for (const bool has_biases : {true, false}) {
      level->bound_codes(dots.data(), factors.data(), has_biases ? given_biases.data() : nullptr,
                         errors.data(), n, 77, 0.01f, 0.5f, -1.0f, bounds.data());
      order.clear();
      for (size_t i = 0; i < n; ++i) {
        const float bias = has_biases ? given_biases[i] : 0.0f;
        const float bound =
            (static_cast<float>(2 * dots[i] - 77) * (factors[i] * 0.01f) + given_errors[i] * 0.5f) + bias +
            -1.0f;
        order.emplace_back(bound, bounds[i]);
        CHECK(bounds[i] < 0x80000000u);
      }
      std::sort(order.begin(), order.end());
      for (size_t i = 1; i < n; ++i) CHECK(order[i - 1].second <= order[i].second);
      if (first[has_biases].empty()) first[has_biases] = bounds;
      CHECK_EQ(bounds, first[has_biases]);
    }
    const uint32_t threshold = order[40].second;
    std::vector<uint32_t> positions(80 + 16), expected;
    for (uint32_t i = 0; i < 80; ++i) {
      if (bounds[i] > threshold) expected.push_back(i);
    }
    positions.resize(level->select_above(bounds.data(), 80, threshold, positions.data()));
    CHECK_EQ(positions, expected);
  }
}
