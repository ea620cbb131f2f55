#include "text/digraphs.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "text/characters.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMostDigraphBytes = 64;  // of a word
constexpr size_t kLeastNameLetters = 5;   // letters
constexpr char kLatin1 = '\xc3';          // the first byte of U+00C0 to U+00FF

struct DigraphPair {
  std::string_view marked, written;
};
constexpr DigraphPair kToDigraph[] = {
    {"ä", "ae"}, {"ö", "oe"}, {"ü", "ue"}, {"å", "aa"}, {"ø", "oe"},
    {"Ä", "ae"}, {"Ö", "oe"}, {"Ü", "ue"}, {"Å", "aa"}, {"Ø", "oe"},
};

constexpr DigraphPair kScandinavian[] = {{"å", "aa"}, {"ø", "oe"}};
constexpr DigraphPair kOfNames[] = {{"ä", "ae"}, {"ö", "oe"}, {"ü", "ue"}};

bool is_scandinavian(const Analyzer& analyzer) noexcept {
  const std::string_view language = analyzer.language();
  return language == "danish" || language == "norwegian" || language == "swedish";
}

// Number of bytes of the Latin letter at `at`; 0: not a letter.
size_t bytes_of_letter(std::string_view text, size_t at) noexcept {
  if ((byte_class(text[at]) & (kLower | kUpper)) != 0) return 1;
  if (text[at] != kLatin1 || at + 1 == text.size()) return 0;
  const char second = text[at + 1];
  return second == '\x97' || second == '\xb7' ? 0 : 2;  // multiplication and division signs
}

// nullopt: the word has none of these letters.
std::optional<std::string> with_digraphs(std::string_view word) {
  if (word.find(kLatin1) == std::string_view::npos) return std::nullopt;
  std::string other;
  bool any = false;
  for (size_t at = 0; at < word.size();) {
    const size_t n = bytes_of_letter(word, at);
    const std::string_view letter = word.substr(at, n);
    const auto* const pair = std::find_if(std::begin(kToDigraph), std::end(kToDigraph),
                                          [&](const DigraphPair& pair) { return pair.marked == letter; });
    any |= pair != std::end(kToDigraph);
    other.append(pair != std::end(kToDigraph) ? pair->written : letter);
    at += n;
  }
  return any ? std::optional(std::move(other)) : std::nullopt;
}

std::optional<std::string> without_digraphs(std::string_view word, std::span<const DigraphPair> pairs) {
  std::string other;
  bool any = false;
  for (size_t at = 0; at < word.size();) {
    const std::string_view two = word.substr(at, 2);
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const DigraphPair& pair) {
      return two.size() == 2 && to_lower(two[0]) == pair.written[0] && to_lower(two[1]) == pair.written[1];
    });
    any |= pair != pairs.end();
    other.append(pair != pairs.end() ? pair->marked : word.substr(at, 1));
    at += pair != pairs.end() ? 2 : 1;
  }
  return any ? std::optional(std::move(other)) : std::nullopt;
}

// Whether a word in ASCII letters may be a name with marked letters.
bool may_be_name(std::string_view word) noexcept {
  return word.size() >= kLeastNameLetters && is_upper(word.front()) &&
         std::all_of(word.begin() + 1, word.end(), is_lower);
}

// Where a capital is followed by small letters with one of kOfNames, or is its first letter, from `from` on;
// npos: nowhere.
size_t find_name(std::string_view text, size_t from) noexcept {
  size_t least = from;  // what is before it was looked at
  for (size_t at = text.find('e', from + 1); at != std::string_view::npos; at = text.find('e', at + 1)) {
    const char before = to_lower(text[at - 1]);
    if (before != 'a' && before != 'o' && before != 'u') continue;
    size_t first = at - 1;
    while (first > least && is_lower(text[first])) --first;
    if (is_upper(text[first])) return first;
    least = at - 1;
  }
  return std::string_view::npos;
}

}  // namespace

bool may_have_digraphs(std::string_view utf8, const Analyzer& analyzer) noexcept {
  return utf8.find(kLatin1) != std::string_view::npos || is_scandinavian(analyzer) ||
         find_name(utf8, 0) != std::string_view::npos;
}

std::vector<Digraph> find_digraphs(std::string_view utf8, const Analyzer& analyzer) {
  const bool both_ways = is_scandinavian(analyzer);
  const bool names_only = !both_ways && utf8.find(kLatin1) == std::string_view::npos;
  std::vector<Digraph> digraphs;
  for (size_t at = 0; at < utf8.size();) {
    if (names_only) {
      at = find_name(utf8, at);
      if (at == std::string_view::npos) break;
      // The name may be the end of a word, which is not one.
      while (at > 0 && (byte_class(utf8[at - 1]) & (kLower | kUpper)) != 0) --at;
    }
    const size_t from = at;
    while (at < utf8.size()) {
      const size_t n = bytes_of_letter(utf8, at);
      if (n == 0) break;
      at += n;
    }
    if (at == from) {
      ++at;
      continue;
    }
    const std::string_view word = utf8.substr(from, at - from);
    if (word.size() > kMostDigraphBytes) continue;
    std::optional<std::string> other = with_digraphs(word);
    const bool is_name = !other && !both_ways && may_be_name(word);
    if (!other && both_ways) other = without_digraphs(word, kScandinavian);
    if (is_name) other = without_digraphs(word, kOfNames);
    if (!other) continue;
    Digraph one{analyzer.term_of_letters(word), analyzer.term_of_letters(*other), is_name};
    if (one.term != one.other) digraphs.push_back(std::move(one));
  }
  return digraphs;
}

}  // namespace scrubjay::text
