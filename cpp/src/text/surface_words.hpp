// Surface words: the words of a text as written, not their terms, for spelling.
//
// Runs of the letters a to z after folding of case and accents (fold.hpp), in the order of the text. Words
// joined by single apostrophes or hyphens are followed by their joined form (e-mail: e, mail, email), except
// for contractions with 's, 'm, 're, 've, 'll and 'd. Reference: tests/reference/spelling.py.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/characters.hpp"
#include "text/fold.hpp"
#include "text/letter_marks.hpp"

namespace scrubjay::text {

// Reads one text at a time in reusable buffers. Not thread-safe.
class SurfaceWords {
 public:
  // Set of word lengths, one bit each; the last bit also stands for all greater lengths.
  using Lengths = uint64_t;
  static constexpr Lengths kAnyLength = ~Lengths{0};
  [[nodiscard]] static constexpr Lengths length(size_t n) noexcept {
    return Lengths{1} << std::min<size_t>(n, 63);
  }
  // The words to visit; others may be visited, too.
  struct Wanted {
    Lengths lengths = kAnyLength;
    char first = 0;  // letter; 0: any
  };

  // Calls visit(word) until it returns true, and then returns true. `utf8`: well-formed. The word is valid
  // until visit() returns.
  template <class Visit>
  bool visit(std::string_view utf8, const Wanted& wanted, Visit&& visit) {
    LetterMarks marks;
    bool letter_before = false, inside_before = false;
    size_t next = 0;  // where the stretch after the last visited one may begin
    for (size_t from = 0; from < utf8.size(); from += LetterMarks::kBytes) {
      marks.set(utf8.substr(from, LetterMarks::kBytes), wanted.first);
      const size_t n_words = (std::min(utf8.size() - from, LetterMarks::kBytes) + 63) / 64;
      for (size_t word = 0; word < n_words; ++word) {
        const uint64_t letters = marks.letters[word], beyond = marks.beyond[word];
        const uint64_t inside = letters | marks.joiners[word] | beyond;
        const uint64_t stretches = inside & ~(inside << 1 | uint64_t{inside_before});
        uint64_t places = letters & ~(letters << 1 | uint64_t{letter_before});
        if (wanted.first != 0) places &= marks.firsts[word];
        places |= beyond;  // folding may make wanted letters of them
        letter_before = letters >> 63 != 0;
        inside_before = inside >> 63 != 0;
        for (; places != 0; places &= places - 1) {
          const auto bit = static_cast<unsigned>(std::countr_zero(places));
          const size_t at = from + 64 * word + bit;
          if (at < next) continue;
          const auto n_letters = static_cast<unsigned>(std::countr_one(letters >> bit));
          const bool ends = bit + n_letters < 64 && (inside >> (bit + n_letters) & 1) == 0;
          const bool is_plain = ends && (stretches >> bit & 1) != 0;  // one word, within these 64 bytes
          if (is_plain && (length(n_letters) & wanted.lengths) == 0) continue;
          const std::string_view stretch = is_plain ? utf8.substr(at, n_letters) : stretch_at(utf8, at, next);
          next = static_cast<size_t>(stretch.data() - utf8.data()) + stretch.size();
          const std::string_view small = folded(stretch);
          if (is_plain ? visit(small) : visit_folded(small, visit)) return true;
        }
      }
    }
    return false;
  }
  template <class Visit>
  bool visit(std::string_view utf8, Visit&& visit) {
    return this->visit(utf8, Wanted{}, visit);
  }

 private:
  // The adjacent letters, apostrophes, hyphens and bytes beyond ASCII that include `at`, from `least` on.
  [[nodiscard]] static std::string_view stretch_at(std::string_view utf8, size_t at, size_t least) noexcept {
    const auto is_inside = [](char c) {
      return (byte_class(c) & (kLower | kUpper | kBeyondAscii)) != 0 || c == '\'' || c == '-';
    };
    size_t begin = at, end = at;
    while (begin > least && is_inside(utf8[begin - 1])) --begin;
    while (end < utf8.size() && is_inside(utf8[end])) ++end;
    return utf8.substr(begin, end - begin);
  }

  [[nodiscard]] std::string_view folded(std::string_view stretch) {
    if (!is_ascii(stretch)) return folder_.fold(stretch);
    lower_.resize(stretch.size());
    std::transform(stretch.begin(), stretch.end(), lower_.begin(), to_lower);
    return lower_;
  }

  template <class Visit>
  bool visit_folded(std::string_view text, Visit&& visit) {
    for (size_t at = 0; at < text.size();) {
      if (!is_lower(text[at])) {
        ++at;
        continue;
      }
      joined_.clear();
      for (bool more = true; more;) {
        const size_t from = at;
        while (at < text.size() && is_lower(text[at])) ++at;
        const std::string_view word = text.substr(from, at - from);
        if (visit(word)) return true;
        const size_t n = joiner_bytes(text.substr(at));
        more = n != 0;
        if (more || !joined_.empty()) joined_.append(word);
        at += n;
      }
      if (!joined_.empty() && visit(std::string_view(joined_))) return true;
    }
    return false;
  }

  // Bytes of the joiner at the beginning of `rest`; 0 if there is no joiner followed by a word.
  [[nodiscard]] static size_t joiner_bytes(std::string_view rest) noexcept {
    const bool curly = rest.starts_with("\xe2\x80\x99");
    const bool apostrophe = curly || rest.starts_with('\'');
    const size_t n = curly || rest.starts_with("\xe2\x80\x90") ? 3
                     : apostrophe || rest.starts_with('-')     ? 1
                                                               : 0;
    if (n == 0 || n == rest.size() || !is_lower(rest[n])) return 0;
    if (!apostrophe) return n;
    const auto end = std::find_if_not(rest.begin() + static_cast<ptrdiff_t>(n), rest.end(), is_lower);
    const std::string_view behind = rest.substr(n, static_cast<size_t>(end - rest.begin()) - n);
    constexpr std::array<std::string_view, 6> kContracted{"s", "m", "re", "ve", "ll", "d"};
    return std::find(kContracted.begin(), kContracted.end(), behind) == kContracted.end() ? n : 0;
  }

  Folder folder_;
  std::string lower_, joined_;
};

}  // namespace scrubjay::text
