// Bitmap of the deleted or allowed documents of a chunk.
//
// Immutable once published: a writer copies a bitmap, changes the copy and publishes it, so a reader's
// snapshot does not change. At most 8 KB per chunk. Bits past the end are zero. Bitmaps that belong to one
// search are reused with reset().
#pragma once

#include <cstdint>

#include <algorithm>
#include <memory>

namespace scrubjay::base {

class Bitmap {
 public:
  Bitmap() = default;
  explicit Bitmap(uint32_t n_bits)
      : n_words_((n_bits + 63) / 64), capacity_(n_words_), words_(new uint64_t[n_words_]()) {}

  // Copies `other`, with room for at least `n_bits`.
  Bitmap(const Bitmap& other, uint32_t n_bits)
      : Bitmap(n_bits > other.n_words_ * 64 ? n_bits : other.n_words_ * 64) {
    std::copy_n(other.words_.get(), other.n_words_, words_.get());
  }

  // Equivalent to constructing a new bitmap, but reuses the allocated memory.
  void reset(uint32_t n_bits) {
    n_words_ = (n_bits + 63) / 64;
    if (n_words_ > capacity_) {
      words_.reset(new uint64_t[n_words_]);
      capacity_ = n_words_;
    }
    std::fill_n(words_.get(), n_words_, uint64_t{0});
  }

  [[nodiscard]] bool test(uint32_t bit) const noexcept {
    return bit / 64 < n_words_ && ((words_[bit / 64] >> (bit % 64)) & 1u) != 0;
  }
  void set(uint32_t bit) noexcept { words_[bit / 64] |= uint64_t{1} << (bit % 64); }
  [[nodiscard]] uint64_t word(uint32_t i) const noexcept { return i < n_words_ ? words_[i] : 0; }
  [[nodiscard]] const uint64_t* words() const noexcept { return words_.get(); }
  [[nodiscard]] uint64_t* words() noexcept { return words_.get(); }
  [[nodiscard]] uint32_t n_words() const noexcept { return n_words_; }

 private:
  uint32_t n_words_ = 0;
  uint32_t capacity_ = 0;
  std::unique_ptr<uint64_t[]> words_;
};

}  // namespace scrubjay::base
