#include "text/kept_letters.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace scrubjay::text {
namespace {

// The endings of the rules in porter2.cpp. If a rule writes letters, a later ending may begin before them, so
// the part of that ending before these letters counts as an ending, too: "icate" is reached through "-ic"
// after "-ation" has become "-ate".
constexpr std::string_view kWhole[] = {
    // step 1a and 1b, and "y" of 1c
    "s", "es", "ies", "ied", "eedly", "ingly", "edly", "eed", "ing", "ed", "y",
    // step 2
    "ational", "fulness", "iveness", "ization", "ousness", "biliti", "lessli", "tional", "alism", "aliti",
    "ation", "entli", "fulli", "iviti", "ogist", "ousli", "abli", "alli", "anci", "ator", "enci", "izer",
    "bli", "ogi", "li",
    // step 3
    "alize", "ative", "icate", "iciti", "ical", "ness", "ful",
    // step 4
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize",
    "ous", "al", "er", "ic",
    // step 5
    "e",
    // letters before "ate", "ive", "ize", "ble", "al", "ent" that some rule wrote
    "at", "i", "a", "tion", "em", "m"};
// Endings whose last letters alone are removed.
constexpr struct {
  std::string_view letters;
  uint8_t n_changed;
} kPartly[] = {{"ies", 1}, {"ies", 2}, {"ied", 1}, {"ied", 2}, {"eed", 1}, {"eedly", 3},
               {"bb", 1},  {"dd", 1},  {"ff", 1},  {"gg", 1},  {"mm", 1},  {"nn", 1},
               {"pp", 1},  {"rr", 1},  {"tt", 1},  {"ll", 1}};

class Endings {
 public:
  Endings() {
    for (const std::string_view letters : kWhole) {
      add(letters, letters.size());
      // An "e" or "i" written by a rule is not among the word's letters, and a "y" may become an "i".
      if (letters.back() == 'e' || letters.back() == 'i')
        add(letters.substr(0, letters.size() - 1), letters.size() - 1);
      if (letters.back() == 'i')
        add(std::string(letters.substr(0, letters.size() - 1)) + "y", letters.size());
    }
    for (const auto& [letters, n_changed] : kPartly) add(letters, n_changed);
    std::sort(all_.begin(), all_.end(), [](const Ending& a, const Ending& b) {
      return a.letters != b.letters ? a.letters < b.letters : a.n_changed < b.n_changed;
    });
    for (size_t i = 0, begin = 0; i < 26; ++i) {
      size_t end = begin;
      while (end < all_.size() && all_[end].letters >> 56 == 'a' + i) ++end;
      of_last_[i] = std::span(all_).subspan(begin, end - begin);
      begin = end;
    }
    by_second_ = all_;
    const auto second = [](const Ending& ending) { return ending.letters >> 48 & 0xff; };  // 0: one letter
    std::stable_sort(by_second_.begin(), by_second_.end(),
                     [&](const Ending& a, const Ending& b) { return second(a) < second(b); });
    for (size_t i = 0, begin = 0; i <= 26; ++i) {
      size_t end = begin;
      while (end < by_second_.size() && second(by_second_[end]) == (i == 0 ? 0 : 'a' + i - 1)) ++end;
      of_second_[i] = std::span(by_second_).subspan(begin, end - begin);
      begin = end;
    }
    for (size_t i = 0; i < of_last_two_.size(); ++i) {
      for (size_t last = 0; last < of_last_.size(); ++last) {
        const size_t begin = by_last_two_.size();
        for (const Ending& ending : of_last_[last])
          if (second(ending) == 0 || second(ending) == (i == 0 ? 0 : 'a' + i - 1))
            by_last_two_.push_back(ending);
        of_last_two_[i][last] = {static_cast<uint16_t>(begin),
                                 static_cast<uint16_t>(by_last_two_.size() - begin)};
      }
    }
  }
  [[nodiscard]] std::span<const Ending> of(char last) const noexcept {
    return of_last_[static_cast<size_t>(last - 'a')];
  }
  [[nodiscard]] std::span<const Ending> of_last_two(uint64_t before) const noexcept {
    const size_t last = (before >> 56) - 'a', second = before >> 48 & 0xff;
    const Range range = of_last_two_[second == 0 ? 0 : second - 'a' + 1][last];
    return std::span(by_last_two_).subspan(range.begin, range.n);
  }
  [[nodiscard]] std::span<const Ending> of_second(char second_last) const noexcept {
    return of_second_[static_cast<size_t>(second_last - 'a') + 1];
  }
  [[nodiscard]] std::span<const Ending> of_one_letter() const noexcept { return of_second_[0]; }

 private:
  void add(std::string_view letters, size_t n_changed) {
    if (letters.empty()) return;
    Ending ending{0, static_cast<uint8_t>(letters.size()), static_cast<uint8_t>(n_changed)};
    for (size_t i = 0; i < letters.size(); ++i)
      ending.letters |= static_cast<uint64_t>(static_cast<unsigned char>(letters[i]))
                        << (8 * (8 - letters.size() + i));
    const bool is_duplicate = std::any_of(all_.begin(), all_.end(), [&](const Ending& listed) {
      return listed.letters == ending.letters && listed.n == ending.n && listed.n_changed == ending.n_changed;
    });
    if (!is_duplicate) all_.push_back(ending);
  }

  static constexpr size_t kLetters = 26;
  struct Range {
    uint16_t begin, n;
  };

  std::vector<Ending> all_, by_second_, by_last_two_;
  std::array<std::span<const Ending>, kLetters> of_last_;
  std::array<std::span<const Ending>, kLetters + 1> of_second_;        // the first: endings of one letter
  std::array<std::array<Range, kLetters>, kLetters + 1> of_last_two_;  // as before, by the last letter
};

const Endings& endings() {
  static const auto* const table = new Endings;  // never destroyed: threads may outlive statics
  return *table;
}

}  // namespace

std::span<const Ending> endings_with(char last) noexcept { return endings().of(last); }
std::span<const Ending> endings_of(uint64_t before) noexcept { return endings().of_last_two(before); }
std::span<const Ending> endings_with_second(char second_last) noexcept {
  return endings().of_second(second_last);
}
std::span<const Ending> one_letter_endings() noexcept { return endings().of_one_letter(); }

size_t kept_letters(const PaddedWord& word) noexcept {
  const Endings& table = endings();
  const size_t n = word.size();
  uint32_t reached = uint32_t{1} << n;
  for (size_t at = n; at > 1; --at) {
    if ((reached >> at & 1) == 0) continue;
    const uint64_t before = word.before(at);
    for (const Ending& ending : table.of_last_two(before)) {
      if ((before ^ ending.letters) >> (64 - 8 * ending.n) == 0 && at > ending.n_changed)
        reached |= uint32_t{1} << (at - ending.n_changed);
    }
  }
  return static_cast<size_t>(std::countr_zero(reached));
}

}  // namespace scrubjay::text
