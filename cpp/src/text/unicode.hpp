// Unicode: normal forms, case folding and word boundaries.
//
// The only access to the third-party tables (StringZilla, Unicode 17), which only unicode.cpp
// includes. All arguments are well-formed UTF-8. The tests check every property here against Python's
// unicodedata and `regex`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// out = the text in normalization form KC (KD). A run of more than 256 combining marks is ordered piecewise.
void nfkc(std::string_view text, std::string& out);
void nfkd(std::string_view text, std::string& out);

// Whether the text is in form KC already; much cheaper than nfkc.
[[nodiscard]] bool is_nfkc(std::string_view text) noexcept;

// out = the text after full default case folding (not normalised again).
void fold_case(std::string_view text, std::string& out);

// Word-boundary class of a character.
enum class WordClass : uint8_t {
  other,     // always a segment of its own
  letter,    // letters and digits
  extends,   // marks, joiners, format characters: belong to the preceding character
  connects,  // may stand inside a word: U+00B7, U+05F4, U+203F
};

[[nodiscard]] WordClass word_class(char32_t c) noexcept;

// out = the lengths in bytes of the segments between UAX #29 word boundaries, in order.
void word_segments(std::string_view text, std::vector<uint32_t>& out);

}  // namespace scrubjay::text
