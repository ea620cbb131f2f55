// Packed lists: which slots is a node of a graph linked to, in as few bits as a slot needs?
//
// A list is a byte with the number of its slots, then the slots, each in the bits that the greatest slot of
// the graph needs (17 at 100,000 nodes, where a word takes 32), up to the next byte.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <vector>

namespace scrubjay::vector {

class PackedLists {
 public:
  static constexpr size_t kLongest = std::numeric_limits<uint8_t>::max();

  class List {
   public:
    List(const uint8_t* at, uint32_t width) noexcept
        : slots_(at + 1), n_(at[0]), width_(width), mask_((uint64_t{1} << width) - 1) {}
    [[nodiscard]] size_t size() const noexcept { return n_; }
    [[nodiscard]] uint32_t operator[](size_t i) const noexcept {
      const size_t bit = i * width_;
      return static_cast<uint32_t>((load(slots_ + bit / 8) >> (bit % 8)) & mask_);
    }

   private:
    const uint8_t* slots_;
    uint32_t n_, width_;
    uint64_t mask_;
  };

  // For slots below n_slots.
  explicit PackedLists(uint32_t n_slots = 0)
      : width_(static_cast<uint32_t>(std::bit_width(std::max(n_slots, 2u) - 1))) {}

  [[nodiscard]] size_t n_bytes(size_t n_links) const noexcept { return 1 + (n_links * width_ + 7) / 8; }
  // Room for lists of so many bytes in all. Throws std::bad_alloc.
  void reserve(size_t n_bytes_in_all) {
    if (n_bytes_in_all > std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
    bytes_.reserve(n_bytes_in_all + kReadBeyond);
  }
  // Where the next list will be.
  [[nodiscard]] uint32_t end() const noexcept { return static_cast<uint32_t>(bytes_.size() - kReadBeyond); }
  // Something with size() <= kLongest and [].
  template <class Slots>
  void append(const Slots& slots) {
    const size_t at = end();
    bytes_.resize(bytes_.size() + n_bytes(slots.size()));
    bytes_[at] = static_cast<uint8_t>(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t bit = i * width_;
      uint8_t* to = bytes_.data() + at + 1 + bit / 8;
      const uint64_t word = load(to) | (uint64_t{slots[i]} << (bit % 8));
      std::memcpy(to, &word, sizeof word);
    }
  }

  [[nodiscard]] const uint8_t* at(uint32_t place) const noexcept { return bytes_.data() + place; }
  [[nodiscard]] List operator[](uint32_t place) const noexcept { return {at(place), width_}; }
  [[nodiscard]] std::span<const uint8_t> bytes() const noexcept { return bytes_; }
  [[nodiscard]] size_t memory_bytes() const noexcept { return bytes_.capacity(); }

 private:
  static constexpr size_t kReadBeyond = sizeof(uint64_t);  // a slot is read and written as a whole word

  [[nodiscard]] static uint64_t load(const uint8_t* from) noexcept {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  uint32_t width_;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kReadBeyond);
};

}  // namespace scrubjay::vector
