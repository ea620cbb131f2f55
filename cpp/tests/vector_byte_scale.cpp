// Steps of rows of bytes and their exponents: the definition in byte_scale.hpp, element by element.
#include "vector/byte_scale.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "vector/exponent.hpp"

using namespace scrubjay::vector;

namespace {

std::vector<float> decoded(const std::vector<int8_t>& bytes, float step) {
  std::vector<float> row;
  for (const int8_t byte : bytes) row.push_back(static_cast<float>(byte) * step);
  return row;
}

void check_row(const std::vector<float>& row) {
  const float step = byte_step(row);
  CHECK(std::isfinite(step) && step > 0.0f);
  CHECK_EQ(scale_of_exponent(exponent_of_scale(step, kByteFractionBits), kByteFractionBits), step);
  std::vector<int8_t> bytes(row.size()), again(row.size());
  to_bytes(row, step, bytes.data());
  int most = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    CHECK_EQ(static_cast<float>(bytes[i]), std::nearbyint(row[i] / step));
    most = std::max(most, std::abs(int{bytes[i]}));
  }
  CHECK(most <= 127);
  if (step > std::numeric_limits<float>::min()) CHECK_EQ(most, 127);
  const std::vector<float> stored = decoded(bytes, step);
  for (const float x : stored) CHECK(std::isfinite(x));
  CHECK_EQ(byte_step(stored), step);
  to_bytes(stored, step, again.data());
  CHECK(again == bytes);
}

}  // namespace

TEST(byte_step_of_any_vector_gives_the_same_bytes_again) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<float> row(1 + random() % 40);
    const int power = static_cast<int>(random() % 270) - 145;
    for (float& x : row)
      x = std::ldexp(static_cast<float>(static_cast<int>(random() % 65536) - 32768) / 32768.0f, power);
    bool any = false;
    for (float& x : row) {
      if (!std::isfinite(x)) x = std::numeric_limits<float>::max();
      any |= x != 0.0f;
    }
    if (any) check_row(row);
  }
}

TEST(byte_step_of_extremes) {
  CHECK_EQ(byte_step(std::vector<float>{0.0f, -0.0f}), 1.0f);
  CHECK_EQ(byte_step(std::vector<float>{}), 1.0f);
  CHECK_EQ(byte_step(std::vector<float>{-127.0f}), 1.0f);
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (const float part : {1.0f, 1.5f, 1.9999999f, 127.0f / 64.0f, 1.00390625f, 1.0078125f}) {
      const float x = std::ldexp(part, exponent);
      if (!std::isfinite(x)) continue;
      check_row({x});
      check_row({-x, x / 3.0f, 0.0f});
    }
  }
  check_row({std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()});
}

TEST(exponent_of_each_power_of_two_comes_back) {
  for (int exponent = -149; exponent < 128; ++exponent) {
    const float scale = std::ldexp(1.0f, exponent);
    CHECK_EQ(exponent_of_scale(scale, 0), exponent);
    CHECK_EQ(scale_of_exponent(exponent, 0), scale);
    CHECK_EQ(exponent_of_scale(scale, kByteFractionBits), exponent * 128);
    CHECK_EQ(scale_of_exponent(exponent * 128, kByteFractionBits), scale);
  }
}
