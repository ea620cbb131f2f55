// Block exponents and products with powers of two equal frexp and ldexp, element by element.
#include "vector/block_exponent.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

using namespace scrubjay::vector;

namespace {

constexpr size_t kSizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 127, 128, 129};

int slow_exponent(const std::vector<float>& row) {
  float largest = 0.0f;
  for (const float x : row) largest = std::max(largest, std::abs(x));
  int exponent = 0;
  (void)std::frexp(largest, &exponent);
  return std::clamp(exponent, -148, 127);
}

float any_finite(std::mt19937& random) {
  float value = 0.0f;
  do {
    value = std::bit_cast<float>(static_cast<uint32_t>(random()));
  } while (!std::isfinite(value));
  return value;
}

}  // namespace

TEST(block_exponent_is_that_of_the_largest_element_wherever_it_is) {
  std::mt19937 random(1);
  for (const size_t n : kSizes) {
    CHECK_EQ(block_exponent(std::vector<float>(n)), 0);
    for (size_t at = 0; at < n; ++at) {
      std::vector<float> row(n);
      for (float& x : row) x = static_cast<float>(random() % 100) / 128.0f;
      row[at] = (random() % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(1 + random() % 1000);
      CHECK_EQ(block_exponent(row), slow_exponent(row));
    }
  }
}

TEST(block_exponent_of_extremes) {
  using limits = std::numeric_limits<float>;
  for (const float x : {limits::denorm_min(), limits::min(), limits::max(), limits::lowest(), 0x1p-126f,
                        0x1p126f, 0x1p127f, 0x1.fffffep126f, 1.0f, -0.5f}) {
    CHECK_EQ(block_exponent({&x, 1}), slow_exponent({x}));
  }
}

TEST(multiply_by_power_has_the_bits_of_ldexp) {
  std::mt19937 random(2);
  for (int exponent = -148; exponent <= 148; ++exponent) {
    for (const size_t n : kSizes) {
      std::vector<float> row(n), out(n + 1, 7.0f);
      for (float& x : row) x = any_finite(random);
      multiply_by_power(row, exponent, out.data());
      for (size_t i = 0; i < n; ++i)
        CHECK_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(std::ldexp(row[i], exponent)));
      CHECK(out[n] == 7.0f);
      multiply_by_power(row, exponent, row.data());
      CHECK(std::equal(row.begin(), row.end(), out.begin()));
    }
  }
}
