// Image bytes: writing values, reading them with every length checked, and the checksum.
// Private to image*.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::engine {

template <class T>
void put_value(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_array(std::string& out, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Copies as many whole values as the bytes hold.
template <class T>
void copy_array(std::string_view bytes, std::vector<T>& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.resize(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
}

// Checksum of graphs, and of images before version 3: four lanes of the multiply-and-fold hash.
[[nodiscard]] inline uint64_t checksum(std::string_view bytes, uint64_t seed) noexcept {
  constexpr uint64_t kSecret = 0xe7037ed1a0b428dbull;
  uint64_t lanes[4] = {seed, seed ^ 1, seed ^ 2, seed ^ 3};
  size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (size_t lane = 0; lane < 4; ++lane) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at + 8 * lane, 8);
      lanes[lane] = base::mix64(lanes[lane] ^ kSecret, word ^ 0xa0761d6478bd642full) ^ word;
    }
  }
  const uint64_t all = base::mix64(lanes[0] ^ kSecret, lanes[1]) ^ base::mix64(lanes[2] ^ kSecret, lanes[3]);
  return base::mix64(all ^ kSecret, base::hash64(bytes.substr(at)) ^ bytes.size());
}

// Checksum of images: the SIMD kernel hashes whole blocks, each lane independently; the fixed hash covers the
// lanes and the rest. The bytes may come in pieces.
class BlockChecksum {
 public:
  explicit BlockChecksum(uint64_t seed) noexcept {
    for (size_t i = 0; i < std::size(lanes_); ++i)
      lanes_[i] = static_cast<uint32_t>(base::mix64(seed ^ (i + 1), 0x9e3779b97f4a7c15ull) >> 16);
  }

  void add(std::string_view bytes) noexcept {
    n_bytes_ += bytes.size();
    if (n_rest_ != 0) {
      const size_t n = std::min(bytes.size(), sizeof rest_ - n_rest_);
      std::memcpy(rest_ + n_rest_, bytes.data(), n);
      n_rest_ += n;
      bytes.remove_prefix(n);
      if (n_rest_ < sizeof rest_) return;
      simd::kernels().checksum(rest_, 1, lanes_);
    }
    const size_t n_blocks = bytes.size() / sizeof rest_;
    simd::kernels().checksum(bytes.data(), n_blocks, lanes_);
    bytes.remove_prefix(n_blocks * sizeof rest_);
    n_rest_ = bytes.size();
    if (n_rest_ != 0) std::memcpy(rest_, bytes.data(), n_rest_);
  }

  [[nodiscard]] uint64_t value() const noexcept {
    const uint64_t of_blocks = base::hash64({reinterpret_cast<const char*>(lanes_), sizeof lanes_});
    const uint64_t of_rest = base::hash64({rest_, n_rest_});
    return base::mix64(of_blocks ^ 0xe7037ed1a0b428dbull, of_rest ^ n_bytes_ ^ 0xa0761d6478bd642full);
  }

 private:
  uint32_t lanes_[simd::kChecksumBytes / sizeof(uint32_t)];
  char rest_[simd::kChecksumBytes];
  size_t n_rest_ = 0;
  uint64_t n_bytes_ = 0;
};

[[nodiscard]] inline uint64_t block_checksum(std::string_view bytes, uint64_t seed) noexcept {
  BlockChecksum checksum(seed);
  checksum.add(bytes);
  return checksum.value();
}

[[noreturn]] inline void corrupt_image(const char* what) {
  throw base::Corrupt(std::string("image of a chunk: corrupt (") + what + ")");
}

// Reads values from the front of an image; throws base::Corrupt if too few bytes are left.
class ImageReader {
 public:
  explicit ImageReader(std::string_view bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] size_t left() const noexcept { return rest_.size(); }
  [[nodiscard]] std::string_view take(uint64_t n_bytes) {
    if (n_bytes > rest_.size()) fail("the size");
    const std::string_view taken = rest_.substr(0, static_cast<size_t>(n_bytes));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  template <class T>
  [[nodiscard]] T value() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  void array(uint32_t n, std::vector<T>& out) {
    copy_array(take(uint64_t{n} * sizeof(T)), out);
  }
  [[noreturn]] void fail(const char* what) const { corrupt_image(what); }

 private:
  std::string_view rest_;
};

}  // namespace scrubjay::engine
