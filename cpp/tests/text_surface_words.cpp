// Surface words are those of a slow loop, and with lengths and a first letter wanted none of these is missing.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "text/fold.hpp"
#include "text/surface_words.hpp"

using namespace scrubjay::text;

namespace {

bool is_letter(char c) { return (byte_class(c) & (kLower | kUpper)) != 0; }
bool is_inside(char c) {
  return is_letter(c) || (byte_class(c) & kBeyondAscii) != 0 || c == '\'' || c == '-';
}

// The joiner at the beginning of `rest` that a word follows, by its bytes; 0: none.
size_t joiner_bytes(std::string_view rest) {
  for (const std::string_view joiner : {"'", "-", "\xe2\x80\x99", "\xe2\x80\x90"}) {
    const size_t n = joiner.size();
    if (!rest.starts_with(joiner) || rest.size() == n || !is_lower(rest[n])) continue;
    size_t end = n;
    while (end < rest.size() && is_lower(rest[end])) ++end;
    const std::string_view behind = rest.substr(n, end - n);
    const bool apostrophe = joiner == "'" || joiner == "\xe2\x80\x99";
    for (const std::string_view contracted : {"s", "m", "re", "ve", "ll", "d"})
      if (apostrophe && behind == contracted) return 0;
    return n;
  }
  return 0;
}

std::vector<std::string> slow_words(std::string_view text) {
  std::vector<std::string> words;
  Folder folder;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t from = at;
    while (at < text.size() && is_inside(text[at])) ++at;
    const std::string folded(folder.fold(text.substr(from, at - from)));
    for (size_t i = 0; i < folded.size();) {
      if (!is_lower(folded[i])) {
        ++i;
        continue;
      }
      std::string joined;
      size_t n_words = 0;
      for (size_t n = 1; n != 0; i += n, ++n_words) {
        std::string word;
        while (i < folded.size() && is_lower(folded[i])) word += folded[i++];
        joined += word;
        words.push_back(std::move(word));
        n = joiner_bytes(std::string_view(folded).substr(i));
      }
      if (n_words > 1) words.push_back(joined);
    }
  }
  return words;
}

std::string random_text(std::mt19937& random, size_t n_pieces) {
  constexpr std::string_view kPieces[] = {
      "a", "B", "ab", "Abc",  "word", "LETTERS", " ", " ",  " ",  ".",  "'", "-", "'s", "é",     "ß",
      "ſ", "’", "‐",  "日本", "1",    "Å",       "ﬁ", "ll", "ve", "\n", "_", "a", "co", "x-ray", "ions"};
  std::string text;
  for (size_t i = 0; i < n_pieces; ++i) text += kPieces[random() % std::size(kPieces)];
  return text;
}

}  // namespace

TEST(surface_words_are_those_of_a_slow_loop) {
  std::mt19937 random(21);
  SurfaceWords surface;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random, random() % (round % 7 == 0 ? 900 : 60));
    const std::vector<std::string> expected = slow_words(text);
    std::vector<std::string> words;
    CHECK(!surface.visit(text, [&](std::string_view word) {
      words.emplace_back(word);
      return false;
    }));
    CHECK_EQ(words, expected);

    SurfaceWords::Wanted wanted{SurfaceWords::length(1 + random() % 4) | SurfaceWords::length(random() % 9),
                                static_cast<char>(random() % 3 == 0 ? 0 : "abslwv"[random() % 6])};
    const auto is_wanted = [&](std::string_view word) {
      return (SurfaceWords::length(word.size()) & wanted.lengths) != 0 &&
             (wanted.first == 0 || word.front() == wanted.first);
    };
    std::vector<std::string> expected_wanted, found_wanted;
    for (const std::string& word : expected)
      if (is_wanted(word)) expected_wanted.push_back(word);
    surface.visit(text, wanted, [&](std::string_view word) {
      if (is_wanted(word)) found_wanted.emplace_back(word);
      return false;
    });
    CHECK_EQ(found_wanted, expected_wanted);
    if (words.empty()) continue;

    size_t left = 1 + random() % words.size();  // ends with the word for which it is told to
    CHECK(surface.visit(text, [&](std::string_view) { return --left == 0; }));
    CHECK_EQ(left, size_t{0});
  }
}
