// Digests admit exactly the values of a range, for any values, and grow while they are read.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "filter/digests.hpp"
#include "filter/track.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay::filter;
namespace base = scrubjay::base;
namespace simd = scrubjay::simd;

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = -kMost;

// Ordered times, few distinct values, all numbers, one value, small numbers with many absent, all absent.
int64_t drawn(int kind, uint32_t i, std::mt19937_64& random) {
  switch (kind) {
    case 0:
      return 1'700'000'000'000'000 + int64_t{i} * 61'000'000 + static_cast<int64_t>(random() % 1'000'000);
    case 1:
      return static_cast<int64_t>(random() % 7);
    case 2:
      return std::max(kLeast, static_cast<int64_t>(random()));
    case 3:
      return -5;
    case 4:
      return random() % 3 ? Digests::kAbsent : static_cast<int64_t>(random() % 200'000) - 100'000;
    case 5:
      return random() % 2 ? kMost : kLeast;
    default:
      return Digests::kAbsent;
  }
}

}  // namespace

TEST(digests_admit_exactly_the_values_of_a_range) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 150; ++round) {
    const auto n = static_cast<uint32_t>(random() % 5000);
    std::vector<int64_t> values(n);
    for (uint32_t i = 0; i < n; ++i)
      values[i] = drawn(round % 7 == 6 ? static_cast<int>(i / 1500) : round % 7, i, random);
    const base::EpochGuard guard;
    Digests digests;
    for (uint32_t have = 0; have < n;) {
      have = std::min<uint32_t>(n, have + 1 + static_cast<uint32_t>(random() % 2500));
      digests.reserve(have);
      digests.follow(values.data(), have);
    }
    for (int asked = 0; asked < 60; ++asked) {
      const auto bound = [&] {
        const int64_t near = n == 0 ? 0 : values[random() % n];
        const int64_t value = random() % 4 == 0 ? static_cast<int64_t>(random()) : near;
        const auto step = static_cast<int64_t>(random() % 3) - 1;
        if (value == Digests::kAbsent) return random() % 2 ? kLeast : kMost;
        return (step < 0 && value == kLeast) || (step > 0 && value == kMost) ? value : value + step;
      };
      const int64_t least = bound(), greatest = random() % 5 == 0 ? least : bound();
      const uint32_t seen = random() % 3 == 0 ? static_cast<uint32_t>(random() % (n + 1)) : n;
      std::vector<uint64_t> bits(n / 64 + 1, 0), expected;
      bits[0] = 1;  // bits that are set stay set
      expected = bits;
      const uint32_t n_matched = digests.match(values.data(), seen, least, greatest, bits.data());
      CHECK_EQ(n_matched, seen / Digests::kBlock * Digests::kBlock);
      for (uint32_t i = 0; i < n_matched; ++i)
        expected[i / 64] |= uint64_t{values[i] >= least && values[i] <= greatest} << (i % 64);
      CHECK_EQ(bits, expected);
    }
  }
}

TEST(digests_admit_exactly_the_values_of_a_set) {
  std::mt19937_64 random(6);
  std::vector<uint32_t> digest_set(Digests::kDigestSetWords, 0);
  size_t n_found = 0;
  for (int round = 0; round < 150; ++round) {
    const auto n = static_cast<uint32_t>(random() % 5000);
    std::vector<int64_t> values(n);
    for (uint32_t i = 0; i < n; ++i)
      values[i] = drawn(round % 7 == 6 ? static_cast<int>(i / 1500) : round % 7, i, random);
    const base::EpochGuard guard;
    Digests digests;
    digests.reserve(n);
    digests.follow(values.data(), n);
    for (int asked = 0; asked < 10; ++asked) {
      std::vector<Range> wanted;
      std::vector<int64_t> sorted;
      for (auto left = static_cast<uint32_t>(random() % (asked % 2 ? 600 : 20)) + 1; left != 0; --left) {
        const int64_t near = n == 0 ? 0 : values[random() % n];
        // Existing values, their neighbours, which usually have the same digest, and some random ones.
        int64_t value = random() % 8 == 0 ? static_cast<int64_t>(random()) : near;
        if (value > kLeast && value < kMost) value += static_cast<int64_t>(random() % 3) - 1;
        value = std::max(value, kLeast);
        wanted.push_back({value, value});
        sorted.push_back(value);
      }
      std::sort(sorted.begin(), sorted.end());
      ValueSet set;
      CHECK(set.assign(wanted));
      const uint32_t seen = random() % 3 == 0 ? static_cast<uint32_t>(random() % (n + 1)) : n;
      std::vector<uint64_t> bits(n / 64 + 1, 0), expected;
      bits[0] = 1;  // bits that are set stay set
      expected = bits;
      const uint32_t n_matched = digests.match_set(values.data(), seen, set, digest_set.data(), bits.data());
      CHECK_EQ(n_matched, seen / Digests::kBlock * Digests::kBlock);
      for (uint32_t i = 0; i < n_matched; ++i) {
        const bool held = std::binary_search(sorted.begin(), sorted.end(), values[i]);
        n_found += held ? 1 : 0;
        expected[i / 64] |= uint64_t{held} << (i % 64);
      }
      CHECK_EQ(bits, expected);
      CHECK_EQ(digest_set, std::vector<uint32_t>(Digests::kDigestSetWords, 0));
    }
  }
  CHECK(n_found > 10'000);
}

TEST(digests_follow_a_track) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 40; ++round) {
    Track<int64_t> track;
    std::vector<int64_t> expected;
    uint32_t doc = 0;
    const auto gap = static_cast<uint32_t>(round % 2 ? 1 : 1 + random() % 12);
    while (doc < 9000) {
      const base::EpochGuard guard;
      const auto value = static_cast<int64_t>(random() % 100'000);
      track.reserve(doc);
      track.put(doc, value);
      expected.resize(doc + 1, Digests::kAbsent);
      expected[doc] = value;
      doc += 1 + static_cast<uint32_t>(random() % gap);
      if (random() % 3000 == 0) doc += static_cast<uint32_t>(random() % 4000);
    }
    const base::EpochGuard guard;
    const auto view = track.view(8500);
    if (!view.dense) continue;
    std::vector<uint64_t> bits(200, 0);
    const auto n = static_cast<uint32_t>(view.values.size());
    CHECK_EQ(view.digests->match(view.values.data(), n, 20'000, 60'000, bits.data()), n / 1024 * 1024);
    for (uint32_t i = 0; i < n / 1024 * 1024; ++i)
      CHECK_EQ(((bits[i / 64] >> (i % 64)) & 1) != 0, expected[i] >= 20'000 && expected[i] <= 60'000);
  }
}

TEST(simd_codes_between_two_at_every_level) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const size_t n = 64 * (1 + random() % 4);
    const uint32_t range = round % 3 == 0 ? 4 : round % 3 == 1 ? 300 : 0x10000;
    std::vector<uint16_t> values(n);
    for (uint16_t& value : values) value = static_cast<uint16_t>(random() % range);
    auto first = static_cast<uint16_t>(random() % range), last = static_cast<uint16_t>(random() % range);
    if (first > last) std::swap(first, last);
    for (const simd::Kernels* level : simd::available_kernels()) {
      std::vector<uint64_t> bits(n / 64, 0), ends(n / 64, 7);
      level->match_between(values.data(), n, first, last, bits.data(), ends.data());
      for (size_t i = 0; i < n; ++i) {
        CHECK_EQ(((bits[i / 64] >> (i % 64)) & 1) != 0, values[i] > first && values[i] < last);
        CHECK_EQ(((ends[i / 64] >> (i % 64)) & 1) != 0, values[i] == first || values[i] == last);
      }
    }
  }
}
