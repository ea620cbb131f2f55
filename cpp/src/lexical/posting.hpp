// Postings: what does the index remember of one term in one document?
//
// Its term frequency and the document's length, packed into 16 bits beside the 16-bit offset of the document
// in its chunk, so that scoring touches nothing else. Term frequencies saturate at 31; lengths are exact to
// 1,024 tokens and quantised above in steps of under 1%.
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

// Above kExactLength every octave is cut into 128 equal steps; the last code stands for everything beyond.
[[nodiscard]] constexpr uint32_t encode_length(uint64_t length) noexcept {
  if (length <= kExactLength) return static_cast<uint32_t>(length);
  const uint32_t octave = static_cast<uint32_t>(std::bit_width(length / kExactLength)) - 1;
  if (octave > 7) return kMaxLengthCode;
  const uint64_t step = (length - (uint64_t{kExactLength} << octave)) / (uint64_t{8} << octave);
  return static_cast<uint32_t>(kExactLength + 128 * octave + step);
}

// The shortest length with this code: the length that every formula uses.
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

}  // namespace scrubjay::lexical
