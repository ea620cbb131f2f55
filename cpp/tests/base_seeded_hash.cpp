// Keys chosen to collide under the fixed hash are separated, and a harder probing separates
// keys that collided.
#include "base/seeded_hash.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/probing.hpp"
#include "check.hpp"
#include "hostile_words.hpp"

using namespace scrubjay;
using base::Probing;
using base::seeded_hash64;

namespace {

// The greatest number of keys in one of 256 buckets.
template <class Places>
size_t fullest(const Places& places) {
  std::array<size_t, 256> counts{};
  for (const uint32_t place : places) ++counts[place >> 24];
  return *std::max_element(counts.begin(), counts.end());
}

}  // namespace

TEST(seeded_hash_tells_lengths_and_positions_apart) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length <= 200; ++length) seen.insert(seeded_hash64(std::string(length, '\0')));
  CHECK_EQ(seen.size(), 201);
  for (const size_t length : {1, 3, 5, 8, 13, 16, 17, 31, 32, 33, 64}) {
    seen.clear();
    const std::string text(length, 'x');
    for (size_t at = 0; at < length; ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string bytes = text;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        seen.insert(seeded_hash64(bytes) & ((uint64_t{1} << 56) - 1));  // the part that a term key keeps
      }
    }
    CHECK_EQ(seen.size(), length * 8);
  }
  seen.clear();
  for (uint64_t value = 0; value < 1000; ++value) {
    seen.insert(seeded_hash64(value));
    seen.insert(seeded_hash64(~value));
    seen.insert(seeded_hash64((value + 1) << 40));
  }
  CHECK_EQ(seen.size(), 3000);
}

TEST(seeded_hash_does_not_read_past_the_end) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (size_t length = 0; length <= text.size(); ++length) {
    const std::string exact = text.substr(0, length);  // the address sanitizer watches its end
    CHECK_EQ(seeded_hash64(exact), seeded_hash64(std::string_view(text).substr(0, length)));
  }
}

// A zero factor would cancel the input before and after it.
TEST(seeded_hash_has_no_public_zero) {
  std::set<uint64_t> fixed, seeded;
  for (uint32_t i = 0; i < 1000; ++i) {
    const std::string bytes = hostile::swallowing(i);
    fixed.insert(base::hash64(bytes));
    seeded.insert(seeded_hash64(bytes));
  }
  CHECK_EQ(fixed.size(), 1u);
  CHECK_EQ(seeded.size(), 1000u);
}

// A bucket has 16 of 4,096 words on average; more than 64 occur once in 10^18 draws.
TEST(seeded_probing_spreads_keys_that_collide_under_the_fixed_hash) {
  for (const size_t length : {7, 12}) {
    const std::vector<std::string> words = hostile::terms(4096, 8, length);
    std::vector<uint32_t> before, homes, hashes;
    const Probing probing = Probing::fresh();
    for (const std::string& word : words) {
      before.push_back(hostile::fixed_home(word));
      homes.push_back(probing.home_of_key(text::term_key(word)));
      hashes.push_back(static_cast<uint32_t>(seeded_hash64(word)));
    }
    CHECK_EQ(fullest(before), words.size());
    CHECK(fullest(homes) < 64);
    CHECK(fullest(hashes) < 64);
  }
}

TEST(harder_probing_separates_colliding_keys) {
  const Probing probing = Probing::fresh(), harder = probing.harder(), farther = probing.farther();
  CHECK_EQ(probing.most(), Probing::kMost);
  CHECK_EQ(harder.most(), 2 * Probing::kMost);
  CHECK_EQ(farther.most(), 2 * Probing::kMost);
  std::vector<uint32_t> homes, parted;
  for (uint64_t key = 1; homes.size() < 2048; ++key) {
    if (probing.home_of_key(key) >> 24 != 0) continue;
    homes.push_back(probing.home_of_key(key));
    parted.push_back(harder.home_of_key(key));
    CHECK_EQ(farther.home_of_key(key), homes.back());
  }
  CHECK_EQ(fullest(homes), homes.size());
  CHECK(fullest(parted) < 48);
  Probing far = probing;
  for (int i = 0; i < 40; ++i) far = far.harder();
  CHECK_EQ(far.most(), 0xffffffffu);
}
