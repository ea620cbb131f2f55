// Surface words: the words of a text as written, not their terms, for spelling.
//
// Runs of the letters a to z after folding of case and accents (fold.hpp), in the order of the text. Words
// joined by single apostrophes or hyphens are followed by their joined form (e-mail: e, mail, email), except
// for contractions with 's, 'm, 're, 've, 'll and 'd. Reference: tests/reference/spelling.py.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/characters.hpp"
#include "text/fold.hpp"

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

  // Calls visit(word) until it returns true, and then returns true. `utf8`: well-formed. The word is valid
  // until visit() returns. Words of lengths outside `lengths` may be skipped.
  template <class Visit>
  bool visit(std::string_view utf8, Lengths lengths, Visit&& visit) {
    constexpr uint8_t kLetter = kLower | kUpper;
    const auto is_letter = [](char c) { return (byte_class(c) & kLetter) != 0; };
    const auto is_inside = [](char c) {
      return (byte_class(c) & (kLetter | kBeyondAscii)) != 0 || c == '\'' || c == '-';
    };
    for (size_t at = 0; at < utf8.size();) {
      const size_t from = at;
      while (at < utf8.size() && is_letter(utf8[at])) ++at;
      const bool is_plain = at == utf8.size() || !is_inside(utf8[at]);  // one word of ASCII letters, or empty
      if (is_plain && (at == from || (length(at - from) & lengths) == 0)) {
        ++at;
        continue;
      }
      while (at < utf8.size() && is_inside(utf8[at])) ++at;
      if (visit_folded(folded(utf8.substr(from, at - from)), visit)) return true;
    }
    return false;
  }
  template <class Visit>
  bool visit(std::string_view utf8, Visit&& visit) {
    return this->visit(utf8, kAnyLength, visit);
  }

 private:
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
