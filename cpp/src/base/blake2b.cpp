#include "base/blake2b.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace scrubjay::base {
namespace {

constexpr std::array<uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                              0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                              0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// The order of the words of a block in each round; rounds 10 and 11 repeat the first two.
constexpr uint8_t kOrder[12][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
                                    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

inline void mix(uint64_t& a, uint64_t& b, uint64_t& c, uint64_t& d, uint64_t x, uint64_t y) noexcept {
  a += b + x;
  d = std::rotr(d ^ a, 32);
  c += d;
  b = std::rotr(b ^ c, 24);
  a += b + y;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 63);
}

}  // namespace

Blake2b::Blake2b(size_t n_digest_bytes) noexcept : state_(kInitial) {
  state_[0] ^= 0x01010000u ^ n_digest_bytes;  // no key, fan-out 1, depth 1
}

void Blake2b::update(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    if (n_pending_ == kBlockBytes) {
      compress(block_.data(), kBlockBytes, false);
      n_pending_ = 0;
    }
    while (n_pending_ == 0 && bytes.size() > kBlockBytes) {
      compress(bytes.data(), kBlockBytes, false);
      bytes.remove_prefix(kBlockBytes);
    }
    const size_t n = std::min(bytes.size(), kBlockBytes - n_pending_);
    std::memcpy(block_.data() + n_pending_, bytes.data(), n);
    n_pending_ += n;
    bytes.remove_prefix(n);
  }
}

void Blake2b::finish(std::span<char> out) noexcept {
  std::memset(block_.data() + n_pending_, 0, kBlockBytes - n_pending_);
  compress(block_.data(), n_pending_, true);
  std::memcpy(out.data(), state_.data(), std::min(out.size(), sizeof state_));
}

void Blake2b::compress(const char* block, uint64_t n_more_bytes, bool is_last) noexcept {
  n_bytes_ += n_more_bytes;
  uint64_t m[16];
  std::memcpy(m, block, sizeof m);
  const auto& s = state_;
  uint64_t v0 = s[0], v1 = s[1], v2 = s[2], v3 = s[3], v4 = s[4], v5 = s[5], v6 = s[6], v7 = s[7];
  uint64_t v8 = kInitial[0], v9 = kInitial[1], v10 = kInitial[2], v11 = kInitial[3];
  uint64_t v12 = kInitial[4] ^ n_bytes_, v13 = kInitial[5];
  uint64_t v14 = is_last ? ~kInitial[6] : kInitial[6], v15 = kInitial[7];
  for (const auto& order : kOrder) {
    const auto word = [&](size_t i) { return m[order[i]]; };
    mix(v0, v4, v8, v12, word(0), word(1));
    mix(v1, v5, v9, v13, word(2), word(3));
    mix(v2, v6, v10, v14, word(4), word(5));
    mix(v3, v7, v11, v15, word(6), word(7));
    mix(v0, v5, v10, v15, word(8), word(9));
    mix(v1, v6, v11, v12, word(10), word(11));
    mix(v2, v7, v8, v13, word(12), word(13));
    mix(v3, v4, v9, v14, word(14), word(15));
  }
  const uint64_t low[8] = {v0, v1, v2, v3, v4, v5, v6, v7}, high[8] = {v8, v9, v10, v11, v12, v13, v14, v15};
  for (size_t i = 0; i < 8; ++i) state_[i] ^= low[i] ^ high[i];
}

}  // namespace scrubjay::base
