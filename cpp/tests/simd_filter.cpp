// The kernels of filters equal a plain loop at every level and length.
#include <bit>
#include <random>
#include <vector>

#include "check.hpp"
#include "simd/kernels.hpp"

using scrubjay::simd::available_kernels;
using scrubjay::simd::Kernels;

TEST(simd_filter_kernels_equal_plain_loops) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    const size_t n = random() % (round % 5 == 0 ? 700 : 140);
    const size_t n_words = (n + 63) / 64;
    const uint64_t spread = round % 2 ? 12 : 65536;
    std::vector<uint16_t> codes(n);
    std::vector<int64_t> numbers(n);
    for (size_t i = 0; i < n; ++i) {
      codes[i] = static_cast<uint16_t>(random() % spread);
      numbers[i] = round % 3 ? static_cast<int64_t>(random() % 20) - 10 : static_cast<int64_t>(random());
    }
    const auto first = static_cast<uint16_t>(random() % spread);
    const auto span = static_cast<uint16_t>(random() % (spread - first));
    const auto least = round % 3 ? static_cast<int64_t>(random() % 20) - 10 : static_cast<int64_t>(random());
    const int64_t greatest = round % 7 == 0 ? least - 1 : least + static_cast<int64_t>(random() % 9);
    std::vector<uint32_t> set(65536 / 32);
    for (uint32_t& word : set) word = static_cast<uint32_t>(random());
    std::vector<uint64_t> before(n_words), without(n_words);
    for (uint64_t& word : before) word = random() & random() & random();
    for (uint64_t& word : without) word = random();
    std::vector<uint64_t> within = before, member = before, ranged = before, complement = before;
    size_t n_kept = 0;
    for (size_t i = 0; i < n; ++i) {
      const auto set_if = [&](std::vector<uint64_t>& bits, bool bit) {
        bits[i / 64] |= static_cast<uint64_t>(bit) << (i % 64);
      };
      set_if(within, codes[i] >= first && codes[i] - first <= span);
      set_if(member, ((set[codes[i] / 32] >> (codes[i] % 32)) & 1) != 0);
      set_if(ranged, numbers[i] >= least && numbers[i] <= greatest);
    }
    for (size_t w = 0; w < n_words; ++w) {
      n_kept += static_cast<size_t>(std::popcount(before[w] & ~without[w]));
      complement[w] = ~(before[w] & ~without[w]);
    }
    for (const Kernels* kernels : available_kernels()) {
      std::vector<uint64_t> bits = before;
      kernels->match_codes(codes.data(), n, first, span, bits.data());
      CHECK_EQ(bits, within);
      bits = before;
      kernels->match_code_set(codes.data(), n, set.data(), bits.data());
      CHECK_EQ(bits, member);
      bits = before;
      kernels->match_range(numbers.data(), n, least, greatest, bits.data());
      CHECK_EQ(bits, ranged);
      bits = before;
      CHECK_EQ(kernels->complement(bits.data(), without.data(), n_words), n_kept);
      CHECK_EQ(bits, complement);
    }
  }
}

TEST(simd_hide_covers_what_is_hidden) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    const size_t n = 16 * (random() % 40), first = 16 * (random() % 9);
    std::vector<uint32_t> values(n);
    std::vector<uint64_t> hidden((first + n + 63) / 64 + 1);
    for (uint32_t& value : values) value = static_cast<uint32_t>(random());
    for (uint64_t& word : hidden) word = round % 3 ? random() : round % 2 ? ~uint64_t{0} : 0;
    const auto cover = static_cast<uint32_t>(random());
    std::vector<uint32_t> expected = values;
    for (size_t i = 0; i < n; ++i) {
      if (((hidden[(first + i) / 64] >> ((first + i) % 64)) & 1) != 0) expected[i] = cover;
    }
    for (const Kernels* kernels : available_kernels()) {
      std::vector<uint32_t> covered = values;
      kernels->hide(covered.data(), n, hidden.data(), first, cover);
      CHECK_EQ(covered, expected);
    }
  }
}
