#include "text/function_words.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/hash.hpp"
#include "text/characters.hpp"
#include "text/japanese_function_words.hpp"
#include "text/porter2.hpp"
#include "text/term_key.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMaxFunctionWordBytes = 10;  // unstemmed

constexpr std::string_view kWords =
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself they them their theirs themselves what which who whom this that these those am is "
    "are was were be been being have has had having do does did doing a an the and but if or because as "
    "until "
    "while of at by for with about against between into through during before after above below to from up "
    "down in out on off over under again further then once here there when where why how all any both each "
    "few more most other some such no nor not only own same so than too very s t can will just don should "
    "now "
    "dont doesnt didnt isnt wasnt arent werent hasnt havent hadnt wont wouldnt couldnt shouldnt cant";

// An open-addressing table of the words, and the key of each word's stem.
class FunctionWordTable {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  FunctionWordTable() {
    slots_.fill(kNone);
    for (size_t from = 0; from < kWords.size();) {
      const size_t end = std::min(kWords.find(' ', from), kWords.size());
      const std::string_view word = kWords.substr(from, end - from);
      size_t slot = slot_of(word);
      while (slots_[slot] != kNone) slot = (slot + 1) % kSlots;
      slots_[slot] = static_cast<uint32_t>(entries_.size());
      const bool asks = word == "how" || word == "what" || word == "which";
      entries_.push_back({word, term_key(porter2(word)), asks});
      lengths_[first_of(word)] |= 1u << word.size();
      from = end + 1;
    }
  }
  // `word`: not empty.
  [[nodiscard]] uint32_t find(std::string_view word) const noexcept {
    if (word.size() > kMaxFunctionWordBytes || (lengths_[first_of(word)] >> word.size() & 1) == 0)
      return kNone;
    for (size_t slot = slot_of(word); slots_[slot] != kNone; slot = (slot + 1) % kSlots)
      if (entries_[slots_[slot]].word == word) return slots_[slot];
    return kNone;
  }
  [[nodiscard]] uint64_t key(uint32_t word) const noexcept { return entries_[word].key; }
  [[nodiscard]] bool asks(uint32_t word) const noexcept { return entries_[word].asks; }
  [[nodiscard]] bool is_how(uint32_t word) const noexcept { return entries_[word].word == "how"; }

 private:
  static constexpr size_t kSlots = 1024;
  struct Entry {
    std::string_view word;
    uint64_t key;
    bool asks;  // may form a question phrase with the next word
  };
  // Hash of the first seven bytes of a word and the number of these bytes.
  [[nodiscard]] static size_t slot_of(std::string_view word) noexcept {
    const uint64_t bytes = base::load_bytes(word.data(), std::min<size_t>(word.size(), 7)) + word.size();
    return (bytes * 0x9e3779b97f4a7c15ull) >> 54;
  }
  [[nodiscard]] static size_t first_of(std::string_view word) noexcept {
    return static_cast<unsigned char>(word.front()) % kLetters;
  }
  static constexpr size_t kLetters = 32;

  std::array<uint32_t, kLetters> lengths_{};  // lengths of words by first letter: a quick test
  std::array<uint32_t, kSlots> slots_{};
  std::vector<Entry> entries_;
};

const FunctionWordTable& function_word_table() {
  static const auto* const words = new FunctionWordTable;  // never destroyed: threads may outlive statics
  return *words;
}

bool in_word(char c) noexcept {
  return (byte_class(c) & (kAlnum | kBeyondAscii)) != 0 || c == '_' || c == '\'';
}

// Whether a word that ends before `at` is a whole word, and not part of a compound.
bool ends_word(std::string_view utf8, size_t at) noexcept {
  return at >= utf8.size() || (!in_word(utf8[at]) && utf8[at] != '-');
}

// The next word after blanks at a position if it consists of lower-case ASCII letters; otherwise empty.
std::string_view small_word_behind(std::string_view utf8, size_t at) noexcept {
  const size_t from = std::min(utf8.find_first_not_of(' ', at), utf8.size());
  size_t end = from;
  while (end < utf8.size() && is_lower(utf8[end])) ++end;
  return from != at && ends_word(utf8, end) ? utf8.substr(from, end - from) : std::string_view();
}

bool is_curly_apostrophe(std::string_view at) noexcept { return at.starts_with("\xe2\x80\x99"); }

}  // namespace

bool is_function_word(std::string_view word) noexcept {
  return !word.empty() && function_word_table().find(word) != FunctionWordTable::kNone;
}

std::string_view all_function_words() noexcept { return kWords; }

std::span<const uint64_t> FunctionWords::find(std::string_view utf8) {
  const FunctionWordTable& words = function_word_table();
  found_.clear();
  asking_.clear();
  keys_.clear();
  n_english_ = 0;
  bool any_small = false;      // a word that begins with a lower-case letter
  bool sentence_start = true;  // only quotes and spaces since the end of a sentence, or no word yet
  bool first = true;
  bool kana = false;  // perhaps
  for (size_t at = 0; at < utf8.size();) {
    if (!in_word(utf8[at])) {
      const char c = utf8[at++];
      if (c == '.' || c == '?' || c == '!' || c == ':') {
        sentence_start = true;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '"' && c != ')') {
        sentence_start = first;
      }
      continue;
    }
    const size_t from = at;
    const bool starts = sentence_start;
    sentence_start = false;
    first = false;
    while (at < utf8.size() && is_lower(utf8[at])) ++at;
    if (at != from) {
      any_small = true;
      // The usual word: lower-case letters only.
      if (at == utf8.size() || !in_word(utf8[at])) {
        const uint32_t found = words.find(utf8.substr(from, at - from));
        if (found == FunctionWordTable::kNone) continue;
        found_.push_back({found, false});
        if (words.asks(found) && (from == 0 || utf8[from - 1] != '-'))
          find_asking(utf8, at, words.is_how(found));
        continue;
      }
      at = from;
    }
    char word[kMaxFunctionWordBytes];
    size_t n = 0, n_letters = 0, n_capitals = 0, apostrophe = 0, n_apostrophes = 0;
    bool plain = true;  // letters and at most one apostrophe between them
    for (; at < utf8.size(); ++at) {
      char c = utf8[at];
      if (c == '\xe2' && is_curly_apostrophe(utf8.substr(at))) {
        c = '\'';
        at += 2;
      }
      const uint8_t letter = byte_class(c) & (kLower | kUpper);
      if (letter != 0) {
        n_capitals += n_apostrophes == 0 && letter == kUpper ? 1 : 0;
        if (n < kMaxFunctionWordBytes) word[n] = to_lower(c);
        ++n;
        ++n_letters;
      } else if (c == '\'') {
        plain = plain && n_letters != 0 && ++n_apostrophes == 1;
        apostrophe = n;
      } else if ((byte_class(c) & (kDigit | kBeyondAscii)) != 0 || c == '_') {
        plain = false;
        kana = kana || c == '\xe3';
      } else {
        break;
      }
    }
    if (!plain || n == 0 || (n_apostrophes != 0 && apostrophe == n)) continue;
    const bool negation = n_apostrophes != 0 && n == apostrophe + 1 && n <= kMaxFunctionWordBytes &&
                          word[n - 1] == 't' && word[apostrophe - 1] == 'n';
    if (n_apostrophes != 0 && !negation) n = apostrophe;
    if (n > kMaxFunctionWordBytes) continue;
    const uint32_t found = words.find({word, n});
    if (found == FunctionWordTable::kNone) continue;
    const bool capital = is_upper(utf8[from]) && !(n == 1 && word[0] == 'i');
    const size_t n_before = n_apostrophes != 0 ? apostrophe : n;
    found_.push_back({found, capital && (!starts || (n_before > 1 && n_capitals == n_before))});
    if (words.asks(found) && !found_.back().named && n_apostrophes == 0 &&
        (from == 0 || utf8[from - 1] != '-'))
      find_asking(utf8, at, words.is_how(found));
  }
  const auto is_name = [&](const Occurrence& occurrence) { return any_small && occurrence.named; };
  for (const Occurrence& occurrence : found_)
    if (!is_name(occurrence)) keys_.push_back(words.key(occurrence.word));
  for (const Occurrence& occurrence : found_)
    if (is_name(occurrence)) std::erase(keys_, words.key(occurrence.word));
  if (!asking_.empty()) add_asking(utf8);
  n_english_ = keys_.size();
  if (kana) add_japanese_function_words(utf8, keys_);
  return keys_;
}

void FunctionWords::find_asking(std::string_view utf8, size_t end, bool how) {
  constexpr std::array<std::string_view, 2> kAmounts = {"many", "much"};
  constexpr std::array<std::string_view, 6> kKinds = {"kind", "kinds", "type", "types", "sort", "sorts"};
  const std::string_view word = small_word_behind(utf8, end);
  if (how ? std::find(kAmounts.begin(), kAmounts.end(), word) == kAmounts.end()
          : std::find(kKinds.begin(), kKinds.end(), word) == kKinds.end())
    return;
  const auto behind = static_cast<size_t>(word.data() - utf8.data()) + word.size();
  if (how || small_word_behind(utf8, behind) == "of") asking_.push_back(term_key(porter2(word)));
}

void FunctionWords::add_asking(std::string_view utf8) {
  constexpr std::string_view kFirst = "mkts";  // first letters of the terms, which stemming keeps
  constexpr size_t kMostBytes = 24;
  std::array<char, kMostBytes> word;
  std::vector<uint64_t> written;  // terms of words that begin with these letters
  for (size_t at = 0; at < utf8.size(); ++at) {
    const size_t from = at;
    while (at < utf8.size() && (byte_class(utf8[at]) & (kLower | kUpper)) != 0) ++at;
    const size_t n = at - from;
    if (n == 0 || n > kMostBytes || kFirst.find(to_lower(utf8[from])) == std::string_view::npos) continue;
    std::transform(utf8.begin() + static_cast<ptrdiff_t>(from), utf8.begin() + static_cast<ptrdiff_t>(at),
                   word.begin(), to_lower);
    written.push_back(term_key(porter2({word.data(), n})));
  }
  for (const uint64_t key : asking_) {
    if (std::count(written.begin(), written.end(), key) == std::count(asking_.begin(), asking_.end(), key))
      keys_.push_back(key);
  }
}

}  // namespace scrubjay::text
