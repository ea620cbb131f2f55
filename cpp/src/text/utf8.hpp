// UTF-8: validation, repair and character boundaries.
//
// Code after sanitize_utf8 may trust its input; the decoders here check nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scrubjay::text {

// Returns the text with every maximal ill-formed subpart replaced by one U+FFFD, like Python's
// errors="replace" (Unicode 17, section 3.9, "U+FFFD Substitution of Maximal Subparts").
[[nodiscard]] std::string sanitize_utf8(std::string_view bytes);

// Equivalent to out += sanitize_utf8(bytes).
void append_sanitized(std::string_view bytes, std::string& out);

// Length of the longest well-formed prefix: bytes.size() if all of it is well-formed.
[[nodiscard]] size_t valid_utf8_prefix(std::string_view bytes) noexcept;

// Bytes of the character with this lead byte. Precondition: a lead byte of well-formed UTF-8.
[[nodiscard]] constexpr size_t utf8_length(unsigned char lead) noexcept {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// Code point at `at`, which must start a character of well-formed UTF-8.
[[nodiscard]] constexpr char32_t decode_utf8(std::string_view text, size_t at) noexcept {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return lead;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | (byte(1) & 0x3f);
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | ((byte(1) & 0x3f) << 6) | (byte(2) & 0x3f);
  return ((lead & 0x07) << 18) | ((byte(1) & 0x3f) << 12) | ((byte(2) & 0x3f) << 6) | (byte(3) & 0x3f);
}

// The longest prefix of at most max_bytes that does not split a character.
[[nodiscard]] constexpr std::string_view cut_utf8(std::string_view text, size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace scrubjay::text
