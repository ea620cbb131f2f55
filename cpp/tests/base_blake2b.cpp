// BLAKE2b: the digests of hashlib, in whatever pieces the bytes are given. tests/unit/test_store_group_commit.py compares
// thousands of checksums of rows with hashlib's.
#include "base/blake2b.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>

#include "check.hpp"

using scrubjay::base::Blake2b;

namespace {

std::string digest(const std::string& bytes, size_t n_digest_bytes, size_t n_piece_bytes = ~size_t{0}) {
  Blake2b hash(n_digest_bytes);
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = std::min(n_piece_bytes, bytes.size() - at);
    hash.update({bytes.data() + at, n});
    at += n;
  }
  std::array<char, 64> out{};
  hash.finish(std::span(out).first(n_digest_bytes));
  std::string hex;
  for (size_t i = 0; i < n_digest_bytes; ++i) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(out[i]) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(out[i]) & 15];
  }
  return hex;
}

}  // namespace

TEST(blake2b_has_the_digests_of_the_standard) {
  CHECK_EQ(digest("abc", 64),
           std::string("ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                       "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"));
  std::string letters;
  for (size_t i = 0; i < 300; ++i) letters += static_cast<char>('a' + i % 26);
  CHECK_EQ(digest(letters.substr(0, 0), 8), std::string("e4a6a0577479b2b4"));
  CHECK_EQ(digest(letters.substr(0, 1), 8), std::string("40f89e395b66422f"));
  CHECK_EQ(digest(letters.substr(0, 127), 8), std::string("d90d1472eb8dae4a"));
  CHECK_EQ(digest(letters.substr(0, 128), 8), std::string("eb91706f2f35d221"));
  CHECK_EQ(digest(letters.substr(0, 129), 8), std::string("b2997b0a315892f5"));
  CHECK_EQ(digest(letters.substr(0, 256), 8), std::string("2ab94242f133ed2a"));
  CHECK_EQ(digest(letters.substr(0, 257), 8), std::string("cee43c39c0b67d10"));
}

TEST(blake2b_does_not_depend_on_the_pieces) {
  std::mt19937 random(1);
  for (const size_t n : {0u, 1u, 127u, 128u, 129u, 255u, 256u, 257u, 1000u}) {
    std::string bytes(n, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const size_t piece : {1u, 3u, 64u, 127u, 128u, 129u, 300u})
      CHECK_EQ(digest(bytes, 8, piece), digest(bytes, 8));
  }
}
