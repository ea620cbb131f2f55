// Postings: the stored data of one term in one document.
//
// Term frequency and document length are packed into 16 bits beside the 16-bit offset of the document in its
// chunk, so that scoring reads nothing else. Term frequencies saturate at 31; lengths are exact up to 1,024
// tokens and quantised above in steps of under 1%.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace scrubjay::lexical {

inline constexpr uint32_t kLengthBits = 11;
inline constexpr uint32_t kMaxLengthCode = (1u << kLengthBits) - 1;
inline constexpr uint32_t kMaxTf = 31;
inline constexpr uint32_t kMaxOffset = 65535;   // of a document in its chunk
inline constexpr uint32_t kExactLength = 1024;  // lengths up to this are their own code

// Above kExactLength every octave is divided into 128 equal steps; the last code stands for
// all greater lengths.
[[nodiscard]] constexpr uint32_t encode_length(uint64_t length) noexcept {
  if (length <= kExactLength) return static_cast<uint32_t>(length);
  const uint32_t octave = static_cast<uint32_t>(std::bit_width(length / kExactLength)) - 1;
  if (octave > 7) return kMaxLengthCode;
  const uint64_t step = (length - (uint64_t{kExactLength} << octave)) / (uint64_t{8} << octave);
  return static_cast<uint32_t>(kExactLength + 128 * octave + step);
}

// The shortest length with this code, which is the length in every formula.
[[nodiscard]] constexpr uint32_t decode_length(uint32_t code) noexcept {
  if (code <= kExactLength) return code;
  const uint32_t octave = (code - kExactLength) / 128, step = (code - kExactLength) % 128;
  return (kExactLength << octave) + step * (8u << octave);
}

[[nodiscard]] constexpr uint16_t pack_payload(uint32_t tf, uint32_t length_code) noexcept {
  return static_cast<uint16_t>((std::min(tf, kMaxTf) << kLengthBits) | length_code);
}
[[nodiscard]] constexpr uint32_t payload_tf(uint16_t payload) noexcept { return payload >> kLengthBits; }
[[nodiscard]] constexpr uint32_t payload_length_code(uint16_t payload) noexcept {
  return payload & kMaxLengthCode;
}

// The shortest documents of a list by term frequency: one byte each for 1, 2, 3 and more occurrences.
// Gives a bound on the list's contributions that does not combine a short document with the high frequency
// of another one.
class Shortest {
 public:
  static constexpr uint32_t kClasses = 4;

  constexpr Shortest() = default;
  explicit constexpr Shortest(uint32_t packed) noexcept : packed_(packed) {}
  [[nodiscard]] constexpr uint32_t packed() const noexcept { return packed_; }

  constexpr void add(uint32_t tf, uint32_t length_code) noexcept {
    const uint32_t shift = 8 * (std::min(tf, kClasses) - 1), byte = encode(length_code);
    if (byte < ((packed_ >> shift) & 0xffu)) packed_ = (packed_ & ~(0xffu << shift)) | (byte << shift);
  }
  constexpr void add(const Shortest& other) noexcept {
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const uint32_t byte = (other.packed_ >> shift) & 0xffu;
      if (byte < ((packed_ >> shift) & 0xffu)) packed_ = (packed_ & ~(0xffu << shift)) | (byte << shift);
    }
  }
  // Whether there is a posting with min(tf, 4) = frequency_class + 1.
  [[nodiscard]] constexpr bool has(uint32_t frequency_class) const noexcept {
    return byte_of(frequency_class) != kNone;
  }
  // Lower bound on the length codes of these documents; exact below 64, up to 3% too low above.
  [[nodiscard]] constexpr uint32_t length_code(uint32_t frequency_class) const noexcept {
    return decode(byte_of(frequency_class));
  }
  [[nodiscard]] constexpr uint32_t least_length_code() const noexcept {
    uint32_t least = kNone;
    for (uint32_t c = 0; c < kClasses; ++c) least = std::min(least, byte_of(c));
    return least == kNone ? kMaxLengthCode : decode(least);
  }

 private:
  static constexpr uint32_t kNone = 0xff;

  [[nodiscard]] constexpr uint32_t byte_of(uint32_t frequency_class) const noexcept {
    return (packed_ >> (8 * frequency_class)) & 0xffu;
  }
  // Six significant bits and their shift, rounded down.
  [[nodiscard]] static constexpr uint32_t encode(uint32_t code) noexcept {
    if (code < 64) return code;
    const auto shift = static_cast<uint32_t>(std::bit_width(code)) - 6;
    return 32 * shift + (code >> shift);
  }
  [[nodiscard]] static constexpr uint32_t decode(uint32_t byte) noexcept {
    if (byte < 64) return byte;
    const uint32_t shift = byte / 32 - 1;
    return (byte - 32 * shift) << shift;
  }

  uint32_t packed_ = 0xffffffffu;
};

}  // namespace scrubjay::lexical
