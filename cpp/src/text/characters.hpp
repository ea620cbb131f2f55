// Characters: classes of code points (bigrams, marks) and of ASCII bytes.
//
// Small hand-written range tables where our rules differ from Unicode's properties; the properties themselves
// are in unicode.hpp. tests/reference/analyzer.py has the same tables.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace scrubjay::text {

// Scripts written as overlapping bigrams: those without spaces between words (Han, Kana, Thai, Lao, Khmer,
// Myanmar, Tai), and Hangul, whose words include their particles.
[[nodiscard]] bool is_bigram_script(char32_t c) noexcept;

// Marks that folding removes: diacritics of Latin, Greek, Cyrillic and symbols, Hebrew points, Arabic vowel
// signs and tatweel, and characters without a glyph. Vowel signs of Indic scripts and the dakuten stay.
[[nodiscard]] bool is_stripped(char32_t c) noexcept;

// Plain spelling of Latin letters whose stroke or ligature has no decomposition (ø, ł, æ); otherwise empty.
[[nodiscard]] std::string_view plain_letter(char32_t c) noexcept;

// Byte classes for the scanner and the parser of compounds.
enum ByteClass : uint8_t {
  kSeparator = 0,
  kLower = 1,
  kUpper = 2,
  kDigit = 4,
  kJoiner = 8,  // - _ . @ / : + # '
  kBeyondAscii = 16,
  kComma = 32,
};

inline constexpr uint8_t kAlnum = kLower | kUpper | kDigit;
// Bytes that never end a run; a comma ends it unless it is between digits.
inline constexpr uint8_t kInRun = kAlnum | kJoiner | kBeyondAscii;

inline constexpr std::array<uint8_t, 256> kByteClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] = kLower;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] = kUpper;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] = kDigit;
  for (const char c : std::string_view("-_.@/:+#'")) classes[static_cast<unsigned char>(c)] = kJoiner;
  for (size_t c = 0x80; c < 0x100; ++c) classes[c] = kBeyondAscii;
  classes[','] = kComma;
  return classes;
}();

[[nodiscard]] constexpr uint8_t byte_class(char c) noexcept {
  return kByteClasses[static_cast<unsigned char>(c)];
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept { return byte_class(c) == kDigit; }
[[nodiscard]] constexpr bool is_lower(char c) noexcept { return byte_class(c) == kLower; }
[[nodiscard]] constexpr bool is_upper(char c) noexcept { return byte_class(c) == kUpper; }
[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c | 0x20) : c;
}

}  // namespace scrubjay::text
