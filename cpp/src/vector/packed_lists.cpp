#include "vector/packed_lists.hpp"

#include <algorithm>
#include <new>

namespace scrubjay::vector {

void PackedLists::Counts::add(uint32_t own, std::span<const uint32_t> slots) noexcept {
  ++n_lists_;
  n_slots_ += slots.size();
  for (size_t i = 0; i < slots.size(); ++i)
    ++n_of_width_[static_cast<size_t>(std::bit_width(distance(own, slots, i)))];
}

PackedLists::PackedLists(const Counts& counts) {
  constexpr size_t kWidths = std::tuple_size_v<decltype(counts.n_of_width_)>;
  size_t widest = kWidths - 1;
  while (widest > 0 && counts.n_of_width_[widest] == 0) --widest;
  // best[c][w]: the fewest bits for the differences of up to w bits with c + 1 classes, the widest being w.
  std::array<uint64_t, kWidths> up_to{};
  for (size_t w = 0, n = 0; w < kWidths; ++w) up_to[w] = n += counts.n_of_width_[w];
  std::array<std::array<uint64_t, kWidths>, kClasses> best{};
  std::array<std::array<size_t, kWidths>, kClasses> below{};
  for (size_t w = 0; w < kWidths; ++w) best[0][w] = w * up_to[w];
  for (size_t c = 1; c < kClasses; ++c) {
    for (size_t w = 0; w < kWidths; ++w) {
      best[c][w] = best[c - 1][w];
      below[c][w] = w;
      for (size_t v = 0; v < w; ++v) {
        const uint64_t n_bits = best[c - 1][v] + w * (up_to[w] - up_to[v]);
        if (n_bits >= best[c][w]) continue;
        best[c][w] = n_bits;
        below[c][w] = v;
      }
    }
  }
  const uint64_t n_bits = best[kClasses - 1][widest] + 2 * counts.n_slots_;
  for (size_t c = kClasses, width = widest; c-- > 0; width = below[c][width]) {
    classes_[c].width = static_cast<uint32_t>(width);
    classes_[c].mask = static_cast<uint32_t>((uint64_t{1} << width) - 1);
  }
  // One byte for the count, and up to two that are not full.
  const uint64_t n_bytes = n_bits / 8 + 3 * counts.n_lists_ + kReadBeyond;
  if (n_bytes > std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
  bytes_.reserve(n_bytes);
}

void PackedLists::append(uint32_t own, std::span<const uint32_t> slots) {
  std::array<uint8_t, kLongest> classes;
  size_t n_bits = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const uint32_t wanted = distance(own, slots, i);
    uint8_t c = 0;
    while (wanted > classes_[c].mask) ++c;
    classes[i] = c;
    n_bits += classes_[c].width;
  }
  const size_t start = end();
  bytes_.resize(bytes_.size() + 1 + (slots.size() + 3) / 4 + (n_bits + 7) / 8);
  uint8_t* to = bytes_.data() + start;
  *to++ = static_cast<uint8_t>(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) to[i / 4] |= static_cast<uint8_t>(classes[i] << (2 * (i % 4)));
  to += (slots.size() + 3) / 4;
  size_t at = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const uint64_t word = load(to + at / 8) | (uint64_t{distance(own, slots, i)} << (at % 8));
    std::memcpy(to + at / 8, &word, sizeof word);
    at += classes_[classes[i]].width;
  }
}

uint32_t PackedLists::next(uint32_t place) const noexcept {
  const uint8_t* classes = bytes_.data() + place + 1;
  const size_t n = bytes_[place];
  size_t n_bits = 0;
  for (size_t i = 0; i < n; ++i) n_bits += classes_[(classes[i / 4] >> (2 * (i % 4))) & 3u].width;
  return static_cast<uint32_t>(place + 1 + (n + 3) / 4 + (n_bits + 7) / 8);
}

}  // namespace scrubjay::vector
