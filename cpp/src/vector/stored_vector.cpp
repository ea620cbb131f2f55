#include "vector/stored_vector.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "simd/kernels.hpp"

namespace scrubjay::vector {
namespace {

constexpr int kLeastStoredExponent = -148, kGreatestStoredExponent = 127;

}  // namespace

std::vector<char> store_vector(Storage storage, std::span<float> vector) {
  if (storage == Storage::f32) {
    std::vector<char> bytes(vector.size_bytes());
    std::memcpy(bytes.data(), vector.data(), bytes.size());
    return bytes;
  }
  float largest = 0.0f;
  for (const float x : vector) largest = std::max(largest, std::abs(x));
  int exponent = 0;
  (void)std::frexp(largest, &exponent);
  exponent = std::clamp(exponent, kLeastStoredExponent, kGreatestStoredExponent);
  // In double precision both products are exact, so each element is rounded once, like by ldexp.
  const double down = std::ldexp(1.0, -exponent), up = std::ldexp(1.0, exponent);
  const size_t padded = (vector.size() + 15) / 16 * 16;  // required by the kernels
  std::vector<float> row(padded, 0.0f);
  for (size_t i = 0; i < vector.size(); ++i)
    row[i] = static_cast<float>(static_cast<double>(vector[i]) * down);
  std::vector<uint16_t> halves(padded);
  simd::kernels().to_f16(row.data(), padded, halves.data());
  simd::kernels().from_f16(halves.data(), padded, row.data());
  for (size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<float>(static_cast<double>(row[i]) * up);
  const auto head = static_cast<int16_t>(exponent);
  std::vector<char> bytes(sizeof head + 2 * vector.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, halves.data(), 2 * vector.size());
  return bytes;
}

}  // namespace scrubjay::vector
