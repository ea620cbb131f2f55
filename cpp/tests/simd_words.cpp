// The kernels that compare words with many others equal plain loops at every level and number.
#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "edit_distance.hpp"
#include "simd/kernels.hpp"

using scrubjay::simd::available_kernels;
using scrubjay::simd::Kernels;

namespace {

constexpr size_t kMost = 64;
using Words = std::array<uint32_t, kMost>;

uint64_t first_bits(size_t n) { return n == kMost ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// The least distance of a word from the beginnings of another.
size_t distance_of_beginnings(std::string_view word, std::string_view other) {
  const std::vector<size_t> distances = edit_distances(word, other).back();
  return *std::min_element(distances.begin(), distances.end());
}

}  // namespace

TEST(sets_with_few_other_letters_are_those_of_a_plain_loop_at_every_level) {
  std::mt19937 random(21);
  for (int round = 0; round < 3000; ++round) {
    const size_t n = random() % (kMost + 1);
    const uint32_t letters = random() & 0x3ffffff;
    Words sets;
    for (uint32_t& set : sets) {
      set = random() % 8 == 0 ? 0 : letters & random();
      for (unsigned others = random() % 4; others != 0; --others) set |= uint32_t{1} << (random() % 26);
    }
    uint64_t expected = 0;
    for (size_t i = 0; i < n; ++i)
      expected |= uint64_t{sets[i] != 0 && std::popcount(sets[i] & ~letters) <= 2} << i;
    for (const Kernels* kernels : available_kernels())
      CHECK_EQ(kernels->few_others(sets.data(), n, letters) & first_bits(n), expected);
  }
}

TEST(beginnings_near_a_word_are_those_of_the_whole_table_at_every_level) {
  std::mt19937 random(22);
  size_t n_near = 0, n_far = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t n = random() % (kMost + 1);
    const auto letter = [&] { return static_cast<char>('a' + random() % (round % 2 == 0 ? 4 : 26)); };
    std::string word;
    for (size_t size = 8 + random() % 17; word.size() < size;) word += letter();
    std::array<uint32_t, 32> places{~uint32_t{0}};
    for (size_t i = 0; i < word.size(); ++i)
      places[static_cast<size_t>(word[i] - 'a' + 1)] |= uint32_t{1} << i;
    Words beginnings{};
    std::vector<std::string> words;
    for (size_t i = 0; i < n; ++i) {
      std::string other = word.substr(0, 4 + random() % 5);
      for (unsigned edits = random() % 5; edits != 0; --edits) {
        const size_t at = 1 + random() % (other.size() - 1);
        if (random() % 2 == 0) other[at] = letter();
        if (random() % 4 == 0) other.erase(at, 1);
        if (random() % 4 == 0) other.insert(at, 1, letter());
        if (other.size() < 3) other += "ab";
      }
      other.resize(std::min<size_t>(other.size(), 7));
      for (size_t at = 1; at < other.size(); ++at)
        beginnings[i] |= static_cast<uint32_t>(other[at] - 'a' + 1) << (5 * (at - 1));
      words.push_back(other);
    }
    uint64_t expected = 0;
    for (size_t i = 0; i < n; ++i) {
      const bool near = distance_of_beginnings(words[i], word) <= 2;
      (near ? n_near : n_far) += 1;
      expected |= uint64_t{near} << i;
    }
    const auto first = static_cast<uint32_t>(word[0] - 'a' + 1);
    for (const Kernels* kernels : available_kernels()) {
      const uint64_t found = kernels->near_beginnings(beginnings.data(), n, first, places.data());
      CHECK_EQ(found & first_bits(n), expected);
    }
  }
  CHECK(n_near > 10'000);
  CHECK(n_far > 5000);
}
