#include "text/porter2.hpp"

#include <array>
#include <cstring>
#include <initializer_list>

namespace scrubjay::text {
namespace {

// Inside the algorithm a consonant 'y' is written 'Y' ("yes", "boy"), as in the published definition.
constexpr bool is_vowel(char c) noexcept {
  return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y';
}

struct Rule {
  std::string_view suffix, replacement;
};

// The word being stemmed. r1 and r2 are offsets from its start (the regions "after the first (second)
// non-vowel that follows a vowel"); both stay fixed while the end of the word changes.
class Word {
 public:
  Word(char* text, size_t length) noexcept : text_(text), length_(length) {}

  [[nodiscard]] size_t length() const noexcept { return length_; }

  // Removes the first letter, which is an apostrophe.
  void drop_first() noexcept { std::memmove(text_, text_ + 1, --length_); }

  void mark_consonant_y() noexcept {
    for (size_t i = 0; i < length_; ++i) {
      if (text_[i] == 'y' && (i == 0 || is_vowel(text_[i - 1]))) text_[i] = 'Y';
    }
  }

  void unmark_consonant_y() noexcept {
    for (size_t i = 0; i < length_; ++i) {
      if (text_[i] == 'Y') text_[i] = 'y';
    }
  }

  void mark_regions() noexcept {
    const size_t prefix = special_prefix();
    r1_ = prefix > 0 ? prefix : after_vowel_and_consonant(0);
    r2_ = after_vowel_and_consonant(r1_);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_, length_}; }
  [[nodiscard]] bool ends_with(std::string_view suffix) const noexcept { return view().ends_with(suffix); }

  // Whether the suffix of `n` bytes begins at or after the start of the region.
  [[nodiscard]] bool suffix_in_r1(size_t n) const noexcept { return length_ - n >= r1_; }
  [[nodiscard]] bool suffix_in_r2(size_t n) const noexcept { return length_ - n >= r2_; }
  [[nodiscard]] bool ends_at_r1() const noexcept { return length_ == r1_; }

  [[nodiscard]] bool has_vowel_before(size_t end) const noexcept {
    for (size_t i = 0; i < end; ++i) {
      if (is_vowel(text_[i])) return true;
    }
    return false;
  }

  // Whether the first `end` bytes end in a short syllable: consonant, vowel, consonant other than w, x, Y; or
  // vowel and consonant alone; or "past".
  [[nodiscard]] bool short_syllable(size_t end) const noexcept {
    if (end >= 3) {
      const char last = text_[end - 1];
      if (!is_vowel(last) && last != 'w' && last != 'x' && last != 'Y' && is_vowel(text_[end - 2]) &&
          !is_vowel(text_[end - 3])) {
        return true;
      }
    }
    if (end == 2 && is_vowel(text_[0]) && !is_vowel(text_[1])) return true;
    return view().substr(0, end).ends_with("past");
  }

  void drop(size_t n) noexcept { length_ -= n; }

  // Only for replacements that are not longer than the suffix, or fit into bytes freed by `drop`.
  void replace(size_t n, std::string_view replacement) noexcept {
    length_ -= n;
    std::memcpy(text_ + length_, replacement.data(), replacement.size());
    length_ += replacement.size();
  }

 private:
  // Length of a prefix after which r1 begins by definition, so that "universe" and "university" stay
  // distinct; or 0.
  [[nodiscard]] size_t special_prefix() const noexcept {
    if (std::string_view("acegilopu").find(text_[0]) == std::string_view::npos) return 0;
    for (const std::string_view prefix :
         {"arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers"}) {
      if (view().starts_with(prefix)) return prefix.size();
    }
    return 0;
  }

  [[nodiscard]] size_t after_vowel_and_consonant(size_t at) const noexcept {
    while (at < length_ && !is_vowel(text_[at])) ++at;
    while (at < length_ && is_vowel(text_[at])) ++at;
    return at < length_ ? at + 1 : length_;
  }

  char* text_;
  size_t length_;
  size_t r1_ = 0, r2_ = 0;
};

// The rule with the longest suffix that the word has; the tables are sorted so that the first match
// is the longest.
template <size_t n>
const Rule* longest(const Word& word, const std::array<Rule, n>& rules) noexcept {
  const char last = word.length() > 0 ? word.view().back() : '\0';
  for (const Rule& rule : rules) {
    if (rule.suffix.back() == last && word.ends_with(rule.suffix)) return &rule;
  }
  return nullptr;
}

constexpr std::array<Rule, 15> kExceptions{{{"skis", "ski"},
                                            {"skies", "sky"},
                                            {"idly", "idl"},
                                            {"gently", "gentl"},
                                            {"ugly", "ugli"},
                                            {"early", "earli"},
                                            {"only", "onli"},
                                            {"singly", "singl"},
                                            {"sky", "sky"},
                                            {"news", "news"},
                                            {"howe", "howe"},
                                            {"atlas", "atlas"},
                                            {"cosmos", "cosmos"},
                                            {"bias", "bias"},
                                            {"andes", "andes"}}};

constexpr std::array<Rule, 25> kStep2{
    {{"ational", "ate"}, {"fulness", "ful"}, {"iveness", "ive"}, {"ization", "ize"}, {"ousness", "ous"},
     {"biliti", "ble"},  {"lessli", "less"}, {"tional", "tion"}, {"alism", "al"},    {"aliti", "al"},
     {"ation", "ate"},   {"entli", "ent"},   {"fulli", "ful"},   {"iviti", "ive"},   {"ogist", "og"},
     {"ousli", "ous"},   {"abli", "able"},   {"alli", "al"},     {"anci", "ance"},   {"ator", "ate"},
     {"enci", "ence"},   {"izer", "ize"},    {"bli", "ble"},     {"ogi", "og"},      {"li", ""}}};

constexpr std::array<Rule, 9> kStep3{{{"ational", "ate"},
                                      {"tional", "tion"},
                                      {"alize", "al"},
                                      {"ative", ""},
                                      {"icate", "ic"},
                                      {"iciti", "ic"},
                                      {"ical", "ic"},
                                      {"ness", ""},
                                      {"ful", ""}}};

constexpr std::array<Rule, 18> kStep4{{{"ement", ""},
                                       {"able", ""},
                                       {"ance", ""},
                                       {"ence", ""},
                                       {"ible", ""},
                                       {"ment", ""},
                                       {"ant", ""},
                                       {"ate", ""},
                                       {"ent", ""},
                                       {"ion", ""},
                                       {"ism", ""},
                                       {"iti", ""},
                                       {"ive", ""},
                                       {"ize", ""},
                                       {"ous", ""},
                                       {"al", ""},
                                       {"er", ""},
                                       {"ic", ""}}};

// Possessives, then plurals.
void step_1a(Word& word) noexcept {
  for (const std::string_view suffix : {"'s'", "'s", "'"}) {
    if (word.ends_with(suffix)) {
      word.drop(suffix.size());
      break;
    }
  }
  if (word.ends_with("sses")) {
    word.drop(2);
  } else if (word.ends_with("ied") || word.ends_with("ies")) {
    word.drop(word.length() > 4 ? 2 : 1);  // cries -> cri, ties -> tie
  } else if (word.ends_with("s") && !word.ends_with("us") && !word.ends_with("ss")) {
    if (word.length() >= 2 && word.has_vowel_before(word.length() - 2)) word.drop(1);  // gaps, but not gas
  }
}

// Restores a word after -ed or -ing was removed.
void repair_step_1b(Word& word) noexcept {
  if (word.ends_with("at") || word.ends_with("bl") || word.ends_with("iz")) {
    word.replace(0, "e");
    return;
  }
  for (const std::string_view twin : {"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"}) {
    if (!word.ends_with(twin)) continue;
    const char first = word.view()[0];
    const bool stays = word.length() == 3 && (first == 'a' || first == 'e' || first == 'o');  // add, egg, off
    if (!stays) word.drop(1);
    return;
  }
  if (word.ends_at_r1() && word.short_syllable(word.length())) word.replace(0, "e");
}

// Past tenses and participles.
void step_1b(Word& word) noexcept {
  static constexpr std::array<Rule, 6> kRules{
      {{"eedly", "ee"}, {"ingly", ""}, {"edly", ""}, {"eed", "ee"}, {"ing", ""}, {"ed", ""}}};
  const Rule* rule = longest(word, kRules);
  if (rule == nullptr) return;
  const size_t stem = word.length() - rule->suffix.size();
  const std::string_view before = word.view().substr(0, stem);
  if (!rule->replacement.empty()) {
    if (!word.suffix_in_r1(rule->suffix.size())) return;
    if (before == "succ" || before == "proc" || before == "exc") return;  // succeed, proceed, exceed
    word.replace(rule->suffix.size(), rule->replacement);
    return;
  }
  if (rule->suffix == "ing") {
    if (before.size() == 2 && before[1] == 'y' && !is_vowel(before[0])) {  // dying -> die
      word.replace(4, "ie");
      return;
    }
    for (const std::string_view noun : {"even", "cann", "inn", "earr", "herr", "out"}) {
      if (before == noun) return;
    }
  }
  if (!word.has_vowel_before(stem)) return;
  word.drop(rule->suffix.size());
  repair_step_1b(word);
}

void step_1c(Word& word) noexcept {
  const size_t n = word.length();
  const std::string_view text = word.view();
  if (n > 2 && (text[n - 1] == 'y' || text[n - 1] == 'Y') && !is_vowel(text[n - 2])) word.replace(1, "i");
}

void step_2(Word& word) noexcept {
  const Rule* rule = longest(word, kStep2);
  if (rule == nullptr || !word.suffix_in_r1(rule->suffix.size())) return;
  const size_t stem = word.length() - rule->suffix.size();
  const char before = stem > 0 ? word.view()[stem - 1] : '\0';
  if (rule->suffix == "ogi" && before != 'l') return;
  if (rule->suffix == "li" && std::string_view("cdeghkmnrt").find(before) == std::string_view::npos) return;
  word.replace(rule->suffix.size(), rule->replacement);
}

void step_3(Word& word) noexcept {
  const Rule* rule = longest(word, kStep3);
  if (rule == nullptr || !word.suffix_in_r1(rule->suffix.size())) return;
  if (rule->suffix == "ative" && !word.suffix_in_r2(rule->suffix.size())) return;
  word.replace(rule->suffix.size(), rule->replacement);
}

void step_4(Word& word) noexcept {
  const Rule* rule = longest(word, kStep4);
  if (rule == nullptr || !word.suffix_in_r2(rule->suffix.size())) return;
  const size_t stem = word.length() - rule->suffix.size();
  if (rule->suffix == "ion" && (stem == 0 || (word.view()[stem - 1] != 's' && word.view()[stem - 1] != 't')))
    return;
  word.drop(rule->suffix.size());
}

void step_5(Word& word) noexcept {
  if (word.ends_with("e")) {
    const bool drops =
        word.suffix_in_r2(1) || (word.suffix_in_r1(1) && !word.short_syllable(word.length() - 1));
    if (drops) word.drop(1);
  } else if (word.ends_with("ll") && word.suffix_in_r2(1)) {
    word.drop(1);
  }
}

}  // namespace

size_t porter2_in_place(char* text, size_t length) noexcept {
  if (length < 3) return length;
  for (const Rule& exception : kExceptions) {
    if (text[0] == exception.suffix[0] && std::string_view(text, length) == exception.suffix) {
      std::memcpy(text, exception.replacement.data(), exception.replacement.size());
      return exception.replacement.size();
    }
  }
  Word word(text, length);
  if (text[0] == '\'') word.drop_first();
  word.mark_consonant_y();
  word.mark_regions();
  step_1a(word);
  step_1b(word);
  step_1c(word);
  step_2(word);
  step_3(word);
  step_4(word);
  step_5(word);
  word.unmark_consonant_y();
  return word.length();
}

std::string porter2(std::string_view word) {
  std::string stem(word);
  stem.resize(porter2_in_place(stem.data(), stem.size()));
  return stem;
}

}  // namespace scrubjay::text
