// Letter marks: where the letters of a text are, one bit for each byte.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "simd/kernels.hpp"
#include "text/characters.hpp"

namespace scrubjay::text {

// The marks of as many bytes as are worth looking at before it is known whether the first ones are enough.
struct LetterMarks {
  static constexpr size_t kBytes = 1024;
  // Letters a to z in either case; apostrophes and hyphens; bytes beyond ASCII; one letter in either case.
  std::array<uint64_t, kBytes / 64> letters, joiners, beyond, firsts;

  // `bytes`: at most kBytes. `first`: the lower-case letter to mark in `firsts`; 0: none.
  void set(std::string_view bytes, char first) noexcept {
    simd::kernels().mark_letters(bytes.data(), bytes.size(), first, letters.data(), joiners.data(),
                                 beyond.data(), firsts.data());
  }
};

// Calls visit(run) for each maximal run of ASCII letters, in the order of the text, until it returns true.
// `first`: only those that begin with this lower-case letter, in either case; 0: all.
template <class Visit>
void visit_letter_runs(std::string_view text, char first, Visit&& visit) {
  LetterMarks marks;
  bool letter_before = false;
  for (size_t from = 0; from < text.size(); from += LetterMarks::kBytes) {
    const std::string_view bytes = text.substr(from, LetterMarks::kBytes);
    marks.set(bytes, first);
    for (size_t word = 0; 64 * word < bytes.size(); ++word) {
      const uint64_t letters = marks.letters[word];
      uint64_t begins = letters & ~(letters << 1 | uint64_t{letter_before});
      if (first != 0) begins &= marks.firsts[word];
      letter_before = letters >> 63 != 0;
      for (; begins != 0; begins &= begins - 1) {
        const auto bit = static_cast<unsigned>(std::countr_zero(begins));
        const auto n_letters = static_cast<unsigned>(std::countr_one(letters >> bit));
        const size_t at = from + 64 * word + bit;
        size_t end = at + n_letters;
        if (bit + n_letters == 64)
          while (end < text.size() && (byte_class(text[end]) & (kLower | kUpper)) != 0) ++end;
        if (visit(text.substr(at, end - at))) return;
      }
    }
  }
}

}  // namespace scrubjay::text
