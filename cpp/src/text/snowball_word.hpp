// Snowball word: the letters of a word, the cursor and region that Snowball's commands move,
// and those commands.
//
// The translated stemmers (cmake/snowball.py) are functions over it. Equivalent to the class BaseStemmer of
// the package snowballstemmer: a command that fails leaves the cursor where it was. `_b` commands move
// backwards, from the cursor towards limit_backward. Where that class raises (a slice outside the word), this
// sets `broken` and changes nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scrubjay::text::snowball {

struct Word;
using Condition = bool (*)(Word& word);

// A set of letters: bit i of `bits` stands for first + i.
struct Grouping {
  char32_t first;
  uint32_t n;
  const uint64_t* bits;

  [[nodiscard]] bool holds(char32_t c) const noexcept {
    const uint32_t i = c - first;  // before `first`: wraps around beyond n
    return i < n && (bits[i / 64] >> (i % 64) & 1) != 0;
  }
};

struct Entry {
  uint16_t at;        // index into Among::letters
  uint8_t n;          // letters
  uint8_t condition;  // 1 + index into Among::conditions; 0: unconditional
  int16_t shorter;    // the longest entry that is a prefix of this one (suffix for `_b`); -1: none
  int16_t result;
};

// Affixes with non-zero results; ascending, by the letters from the cursor on.
struct Among {
  std::u16string_view letters;
  const Entry* entries;
  int32_t n;
  const Condition* conditions;
};

struct Word {
  static constexpr size_t kFlags = 8, kNumbers = 4, kSlices = 1;  // the maxima over all stemmers

  std::u32string letters;
  int32_t cursor = 0, limit = 0, limit_backward = 0;
  int32_t bra = 0, ket = 0;  // the slice
  std::array<bool, kFlags> flags{};
  std::array<int32_t, kNumbers> numbers{};
  std::array<std::u32string, kSlices> slices{};
  bool broken = false;

  // Prepares for a stemmer to run over `letters`.
  void begin() noexcept {
    cursor = limit_backward = bra = 0;
    limit = ket = n_letters();
    flags.fill(false);
    numbers.fill(0);
    for (std::u32string& slice : slices) slice.clear();
    broken = false;
  }

  [[nodiscard]] int32_t n_letters() const noexcept { return static_cast<int32_t>(letters.size()); }
  // 0 outside the word.
  [[nodiscard]] char32_t letter(int32_t at) const noexcept {
    return at >= 0 && at < n_letters() ? letters[static_cast<size_t>(at)] : U'\0';
  }

  // Move over one letter that is, or is not, in the set.
  bool in_grouping(const Grouping& set) noexcept { return step(set, true); }
  bool out_grouping(const Grouping& set) noexcept { return step(set, false); }
  bool in_grouping_b(const Grouping& set) noexcept { return step_b(set, true); }
  bool out_grouping_b(const Grouping& set) noexcept { return step_b(set, false); }
  // Move to the first letter that is not (or is) in the set; false if the region ends before.
  bool go_in_grouping(const Grouping& set) noexcept { return go(set, true); }
  bool go_out_grouping(const Grouping& set) noexcept { return go(set, false); }
  bool go_in_grouping_b(const Grouping& set) noexcept { return go_b(set, true); }
  bool go_out_grouping_b(const Grouping& set) noexcept { return go_b(set, false); }

  // Move over the text.
  template <class Text>
  bool eq_s(const Text& text) noexcept {
    const auto n = static_cast<int32_t>(text.size());
    if (limit - cursor < n || !stands_at(text, cursor)) return false;
    cursor += n;
    return true;
  }
  template <class Text>
  bool eq_s_b(const Text& text) noexcept {
    const auto n = static_cast<int32_t>(text.size());
    if (cursor - limit_backward < n || !stands_at(text, cursor - n)) return false;
    cursor -= n;
    return true;
  }

  // Moves over the longest affix whose condition holds and returns its result; 0 if there is none.
  int32_t find_among(const Among& among);
  int32_t find_among_b(const Among& among);

  // Replaces the slice.
  void slice_from(std::u16string_view text);
  void slice_del() { slice_from({}); }
  [[nodiscard]] std::u32string slice_to();
  // Replaces letters; adjusts the slice.
  void insert(int32_t from, int32_t to, std::u16string_view text);
  void insert(int32_t from, int32_t to, const std::u32string& text);

 private:
  bool step(const Grouping& set, bool inside) noexcept {
    if (cursor >= limit || set.holds(letter(cursor)) != inside) return false;
    ++cursor;
    return true;
  }
  bool step_b(const Grouping& set, bool inside) noexcept {
    if (cursor <= limit_backward || set.holds(letter(cursor - 1)) != inside) return false;
    --cursor;
    return true;
  }
  bool go(const Grouping& set, bool inside) noexcept {
    for (; cursor < limit; ++cursor)
      if (set.holds(letter(cursor)) != inside) return true;
    return false;
  }
  bool go_b(const Grouping& set, bool inside) noexcept {
    for (; cursor > limit_backward; --cursor)
      if (set.holds(letter(cursor - 1)) != inside) return true;
    return false;
  }
  template <class Text>
  [[nodiscard]] bool stands_at(const Text& text, int32_t at) const noexcept {
    for (size_t i = 0; i < text.size(); ++i)
      if (letter(at + static_cast<int32_t>(i)) != static_cast<char32_t>(text[i])) return false;
    return true;
  }
  template <bool kBackward>
  int32_t find(const Among& among);
  [[nodiscard]] bool check_slice() noexcept;
  template <class Text>
  int32_t replace(int32_t from, int32_t to, const Text& text);
  template <class Text>
  void insert_text(int32_t from, int32_t to, const Text& text);
};

}  // namespace scrubjay::text::snowball
