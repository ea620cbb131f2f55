#include "text/characters.hpp"

#include <algorithm>
#include <iterator>

namespace scrubjay::text {
namespace {

struct Range {
  char32_t first, last;
};

constexpr Range kBigramRanges[] = {
    {0x0e01, 0x0e3a},   {0x0e40, 0x0e4e},                      // Thai
    {0x0e81, 0x0ece},   {0x0edc, 0x0edf},                      // Lao
    {0x1000, 0x103f},   {0x1050, 0x108f},   {0x109a, 0x109d},  // Myanmar
    {0x1100, 0x11ff},                                          // Hangul jamo
    {0x1780, 0x17b3},   {0x17b6, 0x17d3},   {0x17d7, 0x17d7},
    {0x17dc, 0x17dd},  // Khmer
    {0x1950, 0x1974},   {0x1980, 0x19c9},   {0x1a20, 0x1a7c},
    {0x1aa7, 0x1aa7},  // Tai Le, New Tai Lue, Tai Tham
    {0x2e80, 0x2fd5},   {0x3005, 0x3007},   {0x3021, 0x302f},
    {0x3031, 0x3035},   {0x3038, 0x303b},  // Han
    {0x3041, 0x3096},   {0x309d, 0x309f},   {0x30a1, 0x30fa},
    {0x30fc, 0x30ff},  // Kana
    {0x3105, 0x312f},   {0x3131, 0x318e},   {0x31a0, 0x31bf},
    {0x31f0, 0x31ff},                      // Bopomofo, jamo, Katakana
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},  // Han
    {0xa960, 0xa97c},   {0xa9e0, 0xa9ef},   {0xa9fa, 0xa9fe},
    {0xaa60, 0xaa76},   {0xaa7a, 0xaa7f},                        // Hangul, Myanmar
    {0xaa80, 0xaadd},   {0xac00, 0xd7fb},   {0xf900, 0xfad9},    // Tai Viet, Hangul, Han
    {0x1aff0, 0x1affe}, {0x1b000, 0x1b167}, {0x20000, 0x33479},  // Kana, Han
};

constexpr Range kStrippedRanges[] = {
    {0x00ad, 0x00ad}, {0x0300, 0x036f}, {0x0483, 0x0489},   {0x0591, 0x05bd}, {0x05bf, 0x05bf},
    {0x05c1, 0x05c2}, {0x05c4, 0x05c5}, {0x05c7, 0x05c7},   {0x0610, 0x061a}, {0x061c, 0x061c},
    {0x0640, 0x0640}, {0x064b, 0x0652}, {0x0670, 0x0670},   {0x1ab0, 0x1ace}, {0x1dc0, 0x1dff},
    {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0x20d0, 0x20f0}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

template <size_t n>
bool contains(const Range (&ranges)[n], char32_t c) noexcept {
  const Range* range =
      std::partition_point(std::begin(ranges), std::end(ranges), [c](const Range& r) { return r.last < c; });
  return range != std::end(ranges) && range->first <= c;
}

}  // namespace

bool is_bigram_script(char32_t c) noexcept { return contains(kBigramRanges, c); }

bool is_stripped(char32_t c) noexcept { return contains(kStrippedRanges, c); }

std::string_view plain_letter(char32_t c) noexcept {
  switch (c) {
    case 0x00f8:
      return "o";
    case 0x0142:
      return "l";
    case 0x0111:
      return "d";
    case 0x0127:
      return "h";
    case 0x0167:
      return "t";
    case 0x0131:
      return "i";
    case 0x00e6:
      return "ae";
    case 0x0153:
      return "oe";
    case 0x00f0:
      return "d";
    case 0x00fe:
      return "th";
    default:
      return {};
  }
}

}  // namespace scrubjay::text
