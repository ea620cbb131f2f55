// hash64 is the function with which the index format was written.
#include <set>
#include <string>

#include "base/hash.hpp"
#include "check.hpp"

using namespace scrubjay::base;

// Values from an independent implementation of the definition. They are in stored indexes and
// must never change.
TEST(hash64_has_the_values_of_the_format) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  CHECK_EQ(hash64(""), 0x02d35db1be602278u);
  CHECK_EQ(hash64("a"), 0xbd7c1a26f115991cu);
  CHECK_EQ(hash64(std::string_view("\0", 1)), 0x00f4315f4ae33861u);
  CHECK_EQ(hash64("hello"), 0x4745e1d0383fac86u);
  CHECK_EQ(hash64("12345678"), 0x6322b290e9e672beu);
  CHECK_EQ(hash64("123456789"), 0x67506392d79b3313u);
  CHECK_EQ(hash64(std::string(8, '\0')), 0x335683efb500c907u);
  CHECK_EQ(hash64(std::string(9, '\0')), 0x78a45d8078335f83u);
  CHECK_EQ(hash64("scrubjay"), 0xa604528a8b40c955u);
  CHECK_EQ(hash64("a-rather-long-identifier_0041"), 0xb0a98e7c839075e1u);
  CHECK_EQ(hash64(all_bytes), 0xa0bd7c3e38f48132u);
}

TEST(hash64_tells_lengths_and_positions_apart) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length <= 200; ++length) seen.insert(hash64(std::string(length, '\0')));
  CHECK_EQ(seen.size(), 201);
  seen.clear();
  for (size_t at = 0; at < 64; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes(64, 'x');
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      seen.insert(hash64(bytes) & ((uint64_t{1} << 56) - 1));  // the part that a term key keeps
    }
  }
  CHECK_EQ(seen.size(), 64 * 8);
}

TEST(hash64_does_not_read_past_the_end) {
  for (size_t length = 0; length <= 24; ++length) {
    const std::string text = "abcdefghijklmnopqrstuvwxyz";
    const std::string exact = text.substr(0, length);  // the address sanitizer watches its end
    CHECK_EQ(hash64(exact), hash64(std::string_view(text).substr(0, length)));
  }
}
