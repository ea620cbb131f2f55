// Two edits: bits give the distances of the whole table, and terms are told as by slow comparisons.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "edit_distance.hpp"
#include "simd/kernels.hpp"
#include "text/porter2.hpp"
#include "text/two_edits.hpp"

using namespace scrubjay::text;

namespace {

size_t distance(std::string_view a, std::string_view b) { return edit_distances(a, b).back().back(); }

bool may_mean(std::string_view word, std::string_view term) {
  if (term.size() < TwoEdits::kLeastTermBytes || term.front() != word.front()) return false;
  std::vector<std::string> written{std::string(term)};
  if (term.back() == 'i') {
    written.emplace_back(term);
    written.back().back() = 'y';
  }
  for (const std::string& begins : written) {
    for (size_t end = 1; end <= word.size(); ++end) {
      const size_t n_edits = distance(begins, word.substr(0, end));
      const std::string rest(word.substr(end));
      if (n_edits < 2 && rest.size() <= TwoEdits::kMostEnding &&
          term.size() >= TwoEdits::kLeastStemWithEnding)
        return true;
      if (n_edits == 2 && porter2(begins + rest) == term) return true;
    }
  }
  return false;
}

bool is_meant(std::string_view typed, std::string_view written) {
  return TwoEdits(typed, false).is_meant(written);
}

// As the dictionary asks for the first seven letters, at every level.
bool begins_near(const TwoEdits& edits, std::string_view term) {
  std::array<uint32_t, 16> letters{};
  for (size_t i = 1; i < std::min<size_t>(term.size(), 7); ++i)
    letters[0] |= static_cast<uint32_t>(term[i] - 'a' + 1) << (5 * (i - 1));
  const std::array<uint32_t, 32> places = edits.places();
  std::vector<bool> near;
  for (const scrubjay::simd::Kernels* kernels : scrubjay::simd::available_kernels())
    near.push_back((kernels->near_beginnings(letters.data(), 1, static_cast<uint32_t>(term[0] - 'a' + 1),
                                             places.data()) &
                    1) != 0);
  CHECK(std::all_of(near.begin(), near.end(), [&](bool one) { return one == near.front(); }));
  return near.front();
}

std::string random_word(std::mt19937& random, size_t least, size_t most) {
  constexpr std::string_view kLetters = "abcy";
  constexpr const char* kEndings[] = {"", "", "s", "ing", "ed", "ation", "y", "ies", "ly", "ness", "i"};
  std::string word;
  for (size_t n = least + random() % (most - least + 1); word.size() < n;)
    word += kLetters[random() % kLetters.size()];
  return word + kEndings[random() % std::size(kEndings)];
}

std::string edited(std::string word, std::mt19937& random) {
  const size_t at = random() % word.size();
  const char letter = "abcyx"[random() % 5];
  switch (random() % 4) {
    case 0:
      return word.erase(at, 1);
    case 1:
      word[at] = letter;
      return word;
    case 2:
      return word.insert(at, 1, letter);
    default:
      if (at + 1 < word.size()) std::swap(word[at], word[at + 1]);
      return word;
  }
}

}  // namespace

TEST(two_edits_are_told_by_bits_as_by_the_whole_table) {
  std::mt19937 random(3);
  size_t n_near = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string a = "ab" + random_word(random, 3, 9);
    std::string b = round % 2 == 0 ? "ab" + random_word(random, 3, 9) : a;
    for (size_t n = random() % 5; n != 0; --n) b = edited(b, random);
    if (a.size() < TwoEdits::kLeastBytes || a.size() > 24 || b.empty()) continue;
    const bool expected = distance(a, b) <= 2 && b.size() >= TwoEdits::kLeastBytes && a[0] == b[0];
    n_near += expected ? 1 : 0;
    if (is_meant(a, b) != expected) CHECK_EQ(a + ", " + b, std::string("within two edits"));
  }
  CHECK(n_near > 20'000);
}

TEST(terms_that_a_word_may_mean_are_found_as_by_slow_comparisons) {
  std::mt19937 random(4);
  size_t n_meant = 0, n_far = 0;
  for (int round = 0; round < 100'000; ++round) {
    const std::string meant = random_word(random, 4, 10);
    std::string word = edited(edited(meant, random), random);
    if (word.size() < TwoEdits::kLeastBytes || word.size() > 24) continue;
    const std::string term = round % 3 == 0 ? porter2(random_word(random, 4, 8)) : porter2(meant);
    const bool expected = may_mean(word, term);
    n_meant += expected ? 1 : 0;
    const TwoEdits stems(word, true), words(word, false);
    if (stems.may_mean(term) != expected) CHECK_EQ(word + ", " + term, std::string("meant"));
    const bool near =
        distance(term, word) <= 2 && term.size() >= TwoEdits::kLeastTermBytes && term.front() == word.front();
    if (words.may_mean(term) != near) CHECK_EQ(word + ", " + term, std::string("near"));
    // What the dictionary is asked for leaves no such term out.
    for (const auto& [edits, means] : {std::pair(&stems, expected), std::pair(&words, near)}) {
      size_t n_others = 0;
      for (char c = 'a'; c <= 'z'; ++c)
        n_others += term.find(c) != std::string::npos && (edits->letters() >> (c - 'a') & 1) == 0 ? 1 : 0;
      if (means) CHECK(n_others <= static_cast<size_t>(TwoEdits::kMostOtherLetters));
      if (means) CHECK(begins_near(*edits, term));
      n_far += begins_near(*edits, term) ? 0 : 1;
    }
  }
  CHECK(n_meant > 20'000);
  CHECK(n_far > 20'000);
}

TEST(two_edits_are_for_long_words_that_begin_alike) {
  CHECK(is_meant("kubernatis", "kubernetes"));
  CHECK(!is_meant("cubernatis", "kubernetes"));
  CHECK(!is_meant("accessor", "access"));
  CHECK(!is_meant("databss", "database"));
  CHECK(is_meant("rechnung", "rechnungen"));
  CHECK(is_meant("rexhnunge", "rechnungen"));
  CHECK(!is_meant("kubarnatis", "kubernetes"));
  CHECK(TwoEdits("migratoinn", true).may_mean("migrat"));
  CHECK(TwoEdits("memmorry", true).may_mean("memori"));
  CHECK(TwoEdits("enviromenal", true).may_mean("environment"));
  CHECK(!TwoEdits("bramblewick", true).may_mean("brain"));
}
