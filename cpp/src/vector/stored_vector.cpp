#include "vector/stored_vector.hpp"

#include <cstdint>
#include <cstring>

#include "simd/kernels.hpp"
#include "vector/block_exponent.hpp"
#include "vector/byte_scale.hpp"
#include "vector/exponent.hpp"

namespace scrubjay::vector {

std::vector<char> store_vector(Storage storage, std::span<float> vector) {
  if (storage == Storage::f32) {
    std::vector<char> bytes(vector.size_bytes());
    std::memcpy(bytes.data(), vector.data(), bytes.size());
    return bytes;
  }
  if (storage == Storage::i8) {
    const float step = byte_step(vector);
    const int16_t head = exponent_of_scale(step, kByteFractionBits);
    std::vector<int8_t> elements(vector.size());
    to_bytes(vector, step, elements.data());
    for (size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<float>(elements[i]) * step;
    std::vector<char> bytes(sizeof head + elements.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, elements.data(), elements.size());
    return bytes;
  }
  const int exponent = block_exponent(vector);
  const size_t padded = (vector.size() + 15) / 16 * 16;  // required by the kernels
  std::vector<float> row(padded, 0.0f);
  multiply_by_power(vector, -exponent, row.data());
  std::vector<uint16_t> halves(padded);
  simd::kernels().to_f16(row.data(), padded, halves.data());
  simd::kernels().from_f16(halves.data(), padded, row.data());
  multiply_by_power({row.data(), vector.size()}, exponent, vector.data());
  const auto head = static_cast<int16_t>(exponent);
  std::vector<char> bytes(sizeof head + 2 * vector.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, halves.data(), 2 * vector.size());
  return bytes;
}

}  // namespace scrubjay::vector
