// Packed lists: the neighbour lists of a graph in few bits.
//
// A list is stored in ascending order: the first slot as its difference from the node's own slot, each other
// one as its difference from its predecessor. A difference takes two bits for its class, and the bits of that
// class; the four widths are the best ones for the lists of a graph. On the ground level of 100,000 nodes in
// the order of graph_order.hpp a slot takes 11 bits, while its number has 17.
//
//     n        one byte
//     classes  two bits each, rounded up to bytes
//     bits     of the differences, rounded up to bytes
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace scrubjay::vector {

class PackedLists {
 public:
  static constexpr size_t kLongest = std::numeric_limits<uint8_t>::max();
  static constexpr size_t kClasses = 4;

  // Statistics of the lists, collected before the first list is stored.
  class Counts {
   public:
    // `slots` ascending.
    void add(uint32_t own, std::span<const uint32_t> slots) noexcept;

   private:
    friend class PackedLists;
    std::array<uint64_t, 33> n_of_width_{};
    uint64_t n_lists_ = 0, n_slots_ = 0;
  };

  PackedLists() = default;
  // Chooses the widths for the counted lists and reserves room for them. Throws std::bad_alloc.
  explicit PackedLists(const Counts& counts);

  // Location of the next list.
  [[nodiscard]] uint32_t end() const noexcept { return static_cast<uint32_t>(bytes_.size() - kReadBeyond); }
  // Appends one of the counted lists.
  void append(uint32_t own, std::span<const uint32_t> slots);
  // Releases the room that was not needed.
  void close() { bytes_.shrink_to_fit(); }

  // Calls visit(slot) for each slot of the list at `place`, which belongs to the node `own`, ascending.
  template <class Visit>
  void for_each(uint32_t place, uint32_t own, Visit&& visit) const {
    const uint8_t* classes = bytes_.data() + place + 1;
    const size_t n = bytes_[place];
    const uint8_t* bits = classes + (n + 3) / 4;
    uint32_t slot = own;
    size_t at = 0;
    for (size_t first = 0; first < n; first += kClassesAWord, classes += sizeof(uint64_t)) {
      uint64_t word = load(classes);
      for (size_t i = first, end = std::min(n, first + kClassesAWord); i < end; ++i, word >>= 2) {
        const Class& slot_class = classes_[word & 3u];
        const auto distance = static_cast<uint32_t>(load(bits + at / 8) >> (at % 8)) & slot_class.mask;
        at += slot_class.width;
        slot = i == 0 ? own + unfolded(distance) : slot + distance;
        visit(slot);
      }
    }
  }
  // Location of the list after the one at `place`.
  [[nodiscard]] uint32_t next(uint32_t place) const noexcept;

  [[nodiscard]] const uint8_t* at(uint32_t place) const noexcept { return bytes_.data() + place; }
  [[nodiscard]] std::span<const uint8_t> bytes() const noexcept { return bytes_; }
  [[nodiscard]] size_t memory_bytes() const noexcept { return bytes_.capacity(); }

 private:
  struct Class {
    uint32_t width = 0, mask = 0;
  };
  static constexpr size_t kReadBeyond = sizeof(uint64_t);  // bits are read and written as whole words
  static constexpr size_t kClassesAWord = 32;

  [[nodiscard]] static uint64_t load(const uint8_t* from) noexcept {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  // Zigzag encoding: maps 0, -1, 1, -2, ... to 0, 1, 2, 3, ...
  [[nodiscard]] static uint32_t folded(uint32_t difference) noexcept {
    return (difference << 1) ^ (difference >> 31 != 0 ? ~uint32_t{0} : 0);
  }
  [[nodiscard]] static uint32_t unfolded(uint32_t number) noexcept {
    return (number >> 1) ^ ((number & 1) != 0 ? ~uint32_t{0} : 0);
  }
  // The stored difference of the i-th slot.
  [[nodiscard]] static uint32_t distance(uint32_t own, std::span<const uint32_t> slots, size_t i) noexcept {
    return i == 0 ? folded(slots[0] - own) : slots[i] - slots[i - 1];
  }

  std::array<Class, kClasses> classes_;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kReadBeyond);
};

}  // namespace scrubjay::vector
