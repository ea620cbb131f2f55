// The checksum kernel gives the same lanes at every level as plain loops.
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay;

TEST(checksum_is_the_same_at_every_level) {
  constexpr size_t kLanes = simd::kChecksumBytes / sizeof(uint32_t);
  std::mt19937 random(9);
  for (const size_t n_blocks : {0u, 1u, 2u, 3u, 17u}) {
    std::vector<unsigned char> bytes(1 + n_blocks * simd::kChecksumBytes);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    std::vector<uint32_t> begin(kLanes);
    for (uint32_t& lane : begin) lane = static_cast<uint32_t>(random());
    std::vector<uint32_t> expected = begin;
    for (size_t i = 0; i < n_blocks * kLanes; ++i) {
      uint32_t word;
      std::memcpy(&word, bytes.data() + 1 + i * sizeof word, sizeof word);
      const uint32_t mixed = (expected[i % kLanes] ^ word) * 0x9e3779b1u;
      expected[i % kLanes] = mixed ^ (mixed >> 15);
    }
    for (const simd::Kernels* kernels : simd::available_kernels()) {
      std::vector<uint32_t> lanes = begin;
      kernels->checksum(bytes.data() + 1, n_blocks, lanes.data());
      CHECK(lanes == expected);
    }
  }
}
