// A stem begins with the kept letters of its word, and no edit with a known term is left out.
#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "lexical/term_prefixes.hpp"
#include "text/kept_letters.hpp"
#include "text/plausible_edits.hpp"
#include "text/porter2.hpp"
#include "text/possible_stems.hpp"
#include "text/spelling.hpp"

using namespace scrubjay;

namespace {

constexpr const char* kEndings[] = {
    "s",      "es",    "ies",     "ied",     "eedly",   "ingly",   "edly",    "eed",    "ing",    "ed",
    "y",      "ies",   "ational", "fulness", "iveness", "ization", "ousness", "bility", "biliti", "lessly",
    "tional", "alism", "ality",   "ation",   "ently",   "fully",   "ivity",   "ogist",  "ously",  "ably",
    "ally",   "ancy",  "ator",    "ency",    "izer",    "bly",     "ogy",     "ly",     "li",     "alize",
    "ative",  "icate", "icity",   "ical",    "ness",    "ful",     "ement",   "able",   "ance",   "ence",
    "ible",   "ment",  "ant",     "ate",     "ent",     "ion",     "ism",     "ity",    "ive",    "ize",
    "ous",    "al",    "er",      "ic",      "e",       "ll",      "bb",      "tt",     "nn",     "mm",
    "ss",     "us",    "sses",    "past",    "at",      "bl",      "iz"};

std::string random_word(std::mt19937& random) {
  constexpr std::string_view kLetters = "aeiouybcdglmnprstzaeioustx";
  std::string word;
  for (size_t n = random() % 6; word.size() < n;) word += kLetters[random() % kLetters.size()];
  for (size_t n = random() % 5; n != 0; --n) word += kEndings[random() % std::size(kEndings)];
  if (word.size() > text::kMostKeptBytes) word.resize(text::kMostKeptBytes);
  return word.empty() ? "a" : word;
}

// Whether kept_letters() is correct for the word's stem, and the word may be one of the stem.
bool is_right(const std::string& word) {
  const size_t n_kept = text::kept_letters(text::PaddedWord(word));
  const std::string stem = text::porter2(word);
  if (n_kept < 1 || n_kept > word.size() || stem.substr(0, n_kept) != word.substr(0, n_kept)) return false;
  if (word.size() > 1 && !text::PossibleStems(stem).may_be_of(word)) return false;
  return n_kept != word.size() || stem == word;
}

}  // namespace

TEST(stems_begin_with_the_letters_that_are_kept) {
  std::string word;
  for (uint32_t number = 0; number < 26 * 26 * 26 * 26; ++number) {
    word.assign(1, static_cast<char>('a' + number % 26));
    for (uint32_t rest = number / 26; rest != 0; rest /= 26) word += static_cast<char>('a' + rest % 26);
    if (!is_right(word)) CHECK_EQ(word, std::string("kept"));
  }
  for (const char* const exception :
       {"skis", "skies", "dying", "lying", "tying", "idly", "gently", "ugly", "early", "only", "singly",
        "sky", "news", "howe", "atlas", "cosmos", "bias", "andes"})
    CHECK(is_right(exception));
  std::mt19937 random(5);
  for (int round = 0; round < 1'000'000; ++round) {
    word = random_word(random);
    if (!is_right(word)) CHECK_EQ(word, std::string("kept"));
  }
  for (const char* exception :
       {"skis",    "skies",  "idly",    "gently",  "ugly", "early", "only",   "singly",  "sky",
        "news",    "howe",   "atlas",   "cosmos",  "bias", "andes", "dying",  "lying",   "tying",
        "succeed", "exceed", "evening", "canning", "ties", "cries", "agreed", "hopping", "falling"})
    CHECK(is_right(exception));
}

TEST(words_keep_most_of_their_letters) {
  CHECK_EQ(text::kept_letters(text::PaddedWord("restaurant")), 7u);
  CHECK_EQ(text::kept_letters(text::PaddedWord("graph")), 5u);
  CHECK_EQ(text::kept_letters(text::PaddedWord("databse")), 5u);
}

TEST(no_edit_with_a_known_term_is_left_out) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::string word = random_word(random);
    if (word.size() > text::PlausibleEdits::kMostBytes) word.resize(text::PlausibleEdits::kMostBytes);
    const bool stems = round % 4 != 0;
    const auto term_of = [&](const std::string& other) { return stems ? text::porter2(other) : other; };
    // Some of the edits' terms are known, and others that begin alike.
    std::vector<std::string> edits;
    text::visit_edits(word, [&](std::string_view other) {
      if (!other.empty()) edits.emplace_back(other);
    });
    std::set<std::string, std::less<>> known;
    for (const std::string& edit : edits)
      if (random() % 16 == 0) known.insert(term_of(edit));
    lexical::TermPrefixes prefixes(known.size());
    for (const std::string& term : known) {
      uint64_t bytes = 0;
      for (size_t i = 0; i < std::min<size_t>(term.size(), 8); ++i)
        bytes |= static_cast<uint64_t>(static_cast<unsigned char>(term[i])) << (8 * i);
      prefixes.add(bytes, term.size());
    }
    std::set<std::string, std::less<>> visited;
    text::PlausibleEdits(word, stems).visit(prefixes, [&](std::string_view other, bool is_term) {
      visited.emplace(other);
      if (is_term) CHECK_EQ(term_of(std::string(other)), std::string(other));
    });
    const std::set<std::string, std::less<>> all(edits.begin(), edits.end());
    for (const std::string& edit : all)
      if (known.contains(term_of(edit)) && !visited.contains(edit))
        CHECK_EQ(word + ": " + edit, std::string("visited"));
    for (const std::string& other : visited) CHECK(other.empty() || all.contains(other));
  }
}
