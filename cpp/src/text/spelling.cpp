#include "text/spelling.hpp"

#include <algorithm>
#include <array>

#include "text/characters.hpp"
#include "text/function_words.hpp"
#include "text/letter_marks.hpp"

namespace scrubjay::text {
namespace {

constexpr std::array<std::string_view, 19> kDates = {
    "january",   "february",  "march",   "april",    "may",      "june",   "july",
    "august",    "september", "october", "november", "december", "monday", "tuesday",
    "wednesday", "thursday",  "friday",  "saturday", "sunday"};

// General punctuation: dashes, quotes, the ellipsis (U+2000 to U+203F).
bool is_punctuation(std::string_view text, size_t at) noexcept {
  return text.size() - at >= 3 && text[at] == '\xe2' && text[at + 1] == '\x80';
}
bool is_apostrophe(std::string_view text, size_t at) noexcept {
  return at < text.size() && (text[at] == '\'' || (is_punctuation(text, at) && text[at + 2] == '\x99'));
}

// Whether the character at `at` is a word character.
bool word_begins(std::string_view text, size_t at) noexcept {
  if (at >= text.size() || is_punctuation(text, at)) return false;
  return text[at] == '_' || (byte_class(text[at]) & (kAlnum | kBeyondAscii)) != 0;
}
// Whether the character before `end` is a word character.
bool word_ends(std::string_view text, size_t end) noexcept {
  if (end == 0 || (end >= 3 && is_punctuation(text, end - 3))) return false;
  return text[end - 1] == '_' || (byte_class(text[end - 1]) & (kAlnum | kBeyondAscii)) != 0;
}
size_t apostrophe_bytes(std::string_view text, size_t at) noexcept { return text[at] == '\'' ? 1 : 3; }

// 's: the preceding word stands alone.
bool is_possessive(std::string_view text, size_t at) noexcept {
  if (!is_apostrophe(text, at)) return false;
  const size_t s = at + apostrophe_bytes(text, at);
  return s < text.size() && (text[s] == 's' || text[s] == 'S') && !word_begins(text, s + 1);
}

bool joined_after(std::string_view text, size_t end) noexcept {
  if (end == text.size()) return false;
  if (word_begins(text, end)) return true;
  if (is_apostrophe(text, end))
    return word_begins(text, end + apostrophe_bytes(text, end)) && !is_possessive(text, end);
  if ((byte_class(text[end]) & kJoiner) == 0) return false;
  size_t at = end;
  while (at < text.size() && (byte_class(text[at]) & kJoiner) != 0) ++at;
  return word_begins(text, at) || text[end] == '#' || text[end] == '+';
}
bool joined_before(std::string_view text, size_t begin) noexcept {
  if (begin == 0) return false;
  if (word_ends(text, begin)) return true;
  if (begin >= 3 && is_punctuation(text, begin - 3) && text[begin - 1] == '\x99')
    return word_ends(text, begin - 3);
  if ((byte_class(text[begin - 1]) & kJoiner) == 0) return false;
  size_t at = begin;
  while (at > 0 && (byte_class(text[at - 1]) & kJoiner) != 0) --at;
  return word_ends(text, at) || std::string_view("#@/").find(text[begin - 1]) != std::string_view::npos;
}

// `word`: at most kMostSpelledBytes.
bool may_be_misspelt(std::string_view word, bool any_small) {
  const auto n_capitals = static_cast<size_t>(std::count_if(word.begin(), word.end(), is_upper));
  if (n_capitals == word.size() ? any_small : n_capitals != (is_upper(word.front()) ? 1u : 0u)) return false;
  std::array<char, kMostSpelledBytes> letters;
  std::transform(word.begin(), word.end(), letters.begin(), to_lower);
  const std::string_view lower(letters.data(), word.size());
  return !is_function_word(lower) && std::find(kDates.begin(), kDates.end(), lower) == kDates.end();
}

// The parts of a text in double quotes, straight or curly, that are closed.
class Quotes {
 public:
  explicit Quotes(std::string_view text) noexcept
      : text_(text), straight_(text.find('"')), curly_(text.find(kCurly)) {}

  // Whether the character at `at`, which is not before the one of the last call, is in quotes.
  [[nodiscard]] bool contain(size_t at) noexcept {
    while (std::min(straight_, curly_) < at) {
      if (straight_ < curly_) {
        straight_ = text_.find('"', straight_ + 1);
        quoted_ = straight_ != std::string_view::npos && !quoted_;
        continue;
      }
      const std::string_view quote = text_.substr(curly_, 3);
      if (quote == kOpening) quoted_ = text_.find(kClosing, curly_) != std::string_view::npos;
      if (quote == kClosing) quoted_ = false;
      curly_ = text_.find(kCurly, curly_ + 1);
    }
    return quoted_;
  }

 private:
  // General punctuation, and two of it.
  static constexpr std::string_view kCurly = "\xe2\x80", kOpening = "\xe2\x80\x9c", kClosing = "\xe2\x80\x9d";

  std::string_view text_;
  size_t straight_, curly_;  // the next ones
  bool quoted_ = false;
};

}  // namespace

bool is_one_edit(std::string_view a, std::string_view b) noexcept {
  size_t front = 0;
  while (front < a.size() && front < b.size() && a[front] == b[front]) ++front;
  const std::string_view x = a.substr(front), y = b.substr(front);
  if (x.size() == y.size() + 1) return x.substr(1) == y;
  if (y.size() == x.size() + 1) return y.substr(1) == x;
  if (x.size() != y.size() || x.empty()) return false;
  if (x.substr(1) == y.substr(1)) return true;
  return x.size() >= 2 && x[0] == y[1] && x[1] == y[0] && x.substr(2) == y.substr(2);
}

std::string other_spelling(std::string_view word) {
  constexpr size_t kFirst = 4;
  for (size_t at = word.size(); at-- > kFirst;) {
    if (at + 1 == word.size() || (word[at] != 's' && word[at] != 'z')) continue;
    if (word[at - 1] != 'i' && word[at - 1] != 'y') continue;
    std::string other(word);
    other[at] = word[at] == 's' ? 'z' : 's';
    return other;
  }
  return {};
}

void find_spelled_words(std::string_view utf8, std::vector<SpelledWord>& out, const PossibleStems* stems) {
  out.clear();
  const bool any_small = std::any_of(utf8.begin(), utf8.end(), is_lower);
  Quotes quotes(utf8);
  visit_letter_runs(utf8, 0, [&](std::string_view word) {
    if (word.size() < kLeastSpelledBytes || word.size() > kMostSpelledBytes) return false;
    if (stems && !stems->may_be_of(word)) return false;
    const auto at = static_cast<size_t>(word.data() - utf8.data());
    if (!quotes.contain(at) && !joined_before(utf8, at) && !joined_after(utf8, at + word.size()) &&
        may_be_misspelt(word, any_small))
      out.push_back({at, word.size()});
    return false;
  });
}

}  // namespace scrubjay::text
