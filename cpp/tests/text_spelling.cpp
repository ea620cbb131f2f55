// Are the words that may be misspelt words of the text, whatever its bytes, and are all edits visited?
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "text/spelling.hpp"
#include "text/word_forms.hpp"

using namespace scrubjay::text;

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<SpelledWord> found;
  find_spelled_words(text, found);
  std::vector<std::string> words;
  for (const SpelledWord& word : found) words.emplace_back(text.substr(word.at, word.n_bytes));
  return words;
}

}  // namespace

TEST(spelled_words_lie_in_texts_of_any_bytes) {
  constexpr std::string_view kBytes = "abcdeXY \"'-_.@/:+#07\xe2\x80\x99\x9c\x9d\xc3\xff";
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, '\0');
    for (char& byte : text) byte = kBytes[random() % kBytes.size()];
    std::vector<SpelledWord> words;
    find_spelled_words(text, words);
    size_t end = 0;
    for (const SpelledWord& word : words) {
      CHECK(word.at >= end);
      end = word.at + word.n_bytes;
      CHECK(end <= text.size());
      CHECK(word.n_bytes >= kLeastSpelledBytes);
      const std::string_view typed = std::string_view(text).substr(word.at, word.n_bytes);
      CHECK(std::all_of(typed.begin(), typed.end(), is_letter));
      CHECK(word.at == 0 || !is_letter(text[word.at - 1]));
      CHECK(end == text.size() || !is_letter(text[end]));
    }
  }
}

TEST(spelled_words_are_no_identifiers_and_stand_in_no_quotes) {
  CHECK(words_of("recieve a databse, migraton-7 \"postgress\" @runnig NASAA June what's databse's") ==
        std::vector<std::string>({"recieve", "databse", "databse"}));
  CHECK(words_of("PLEASE RECIEVE") == std::vector<std::string>({"PLEASE", "RECIEVE"}));
  CHECK(words_of("an \"open quote") == std::vector<std::string>({"open", "quote"}));
}

TEST(every_edit_is_visited) {
  std::set<std::string, std::less<>> edits;
  size_t n = 0;
  visit_edits("acb", [&](std::string_view other) {
    edits.emplace(other);
    ++n;
  });
  CHECK(n <= 54 * 3 + 25);
  for (const char* other : {"ac", "cb", "ab", "cab", "abc", "zcb", "aczb", "zacb", "acbz"})
    CHECK(edits.contains(std::string_view(other)));
  CHECK(!edits.contains(std::string_view("acb")));
  CHECK(!edits.contains(std::string_view("bca")));
}

TEST(forms_are_those_of_one_another) {
  const auto forms = other_forms("mice");
  CHECK_EQ(forms.size(), 1u);
  CHECK(other_forms(forms[0])[0] == "mice");
  CHECK(other_forms("oak").empty());
}
