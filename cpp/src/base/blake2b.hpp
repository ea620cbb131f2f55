// BLAKE2b (RFC 7693) without a key, for digests of up to 64 bytes: what hashlib.blake2b(digest_size=n) computes. The
// rows of a store have such checksums (engine/row_checksum.hpp).
//
// Little-endian machines only, like all stored data. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace scrubjay::base {

class Blake2b {
 public:
  // 1 <= n_digest_bytes <= 64; digests of different sizes have nothing in common.
  explicit Blake2b(size_t n_digest_bytes) noexcept;

  void update(std::string_view bytes) noexcept;
  // Writes the first `out.size()` bytes of the digest, which is that of everything given so far. Call once.
  void finish(std::span<char> out) noexcept;

 private:
  static constexpr size_t kBlockBytes = 128;

  void compress(const char* block, uint64_t n_more_bytes, bool is_last) noexcept;

  std::array<uint64_t, 8> state_;
  std::array<char, kBlockBytes>
      block_;  // a full block stays here until more bytes come: the last one is special
  size_t n_pending_ = 0;
  uint64_t n_bytes_ = 0;
};

}  // namespace scrubjay::base
