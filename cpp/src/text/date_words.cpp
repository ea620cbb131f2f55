#include "text/date_words.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "text/characters.hpp"
#include "text/date_numbers.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMaxDateWordBytes = 12;
constexpr std::string_view kNone = "-";

// Twelve months in each string. tests/reference/dates.py has the same tables.
constexpr std::string_view kPlainMonths[] = {
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
};
constexpr std::string_view kShortMonths[] = {
    "jan feb mar apr - jun jul aug sep oct nov dec",
    "- - - - - - - - sept - - -",
};
constexpr std::string_view kMonths[] = {
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
};
constexpr std::string_view kWeekdays = "monday tuesday wednesday thursday friday saturday sunday";
constexpr std::string_view kPluralWeekdays =
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays";
constexpr std::string_view kQuarters = "q1 q2 q3 q4";
constexpr std::string_view kHalves = "half h1 h2";
constexpr std::string_view kUnits = "day week weekend month year quarter fortnight";
constexpr std::string_view kPlurals = "days weeks - months years quarters fortnights";
// Each in the order of Holiday; of Thanksgiving and Halloween the names are the same.
constexpr std::string_view kHolidays[] = {
    "christmas easter pentecost halloween thanksgiving -",
    "xmas - whitsun - - -",
    "weihnachten ostern pfingsten - - silvester",
    "noël pâques pentecôte - - neujahr",
    "navidad pascua pentecostés - - nochevieja",
    "natale pasqua pentecoste - - capodanno",
    "kerstmis pasen pinksteren - - -",
};

constexpr QuestionWord kOthers[] = {
    {"spring", DateWord::season, 3},
    {"summer", DateWord::season, 6},
    {"autumn", DateWord::season, 9},
    {"fall", DateWord::season, 9},
    {"winter", DateWord::season, 12},
    {"yesterday", DateWord::yesterday},
    {"gestern", DateWord::yesterday},
    {"ayer", DateWord::yesterday},
    {"ieri", DateWord::yesterday},
    {"ontem", DateWord::yesterday},
    {"vorgestern", DateWord::before_yesterday},
    {"anteayer", DateWord::before_yesterday},
    {"anteontem", DateWord::before_yesterday},
    {"today", DateWord::today},
    {"night", DateWord::night},
    {"year\u2019s", DateWord::other},  // of New Year's Eve
    {"morning", DateWord::part_of_day},
    {"afternoon", DateWord::part_of_day},
    {"evening", DateWord::part_of_day},
    {"ago", DateWord::ago},
    {"latest", DateWord::newest},
    {"newest", DateWord::newest},
    {"current", DateWord::newest},
    {"recent", DateWord::newest, 1},
};

// An open-addressing table of these words; the first entry of a word counts.
class DateWordTable {
 public:
  DateWordTable() {
    for (const std::string_view names : kPlainMonths) add_all(names, DateWord::plain_month, 1);
    for (const std::string_view names : kShortMonths) add_all(names, DateWord::short_month, 1);
    for (const std::string_view names : kMonths) add_all(names, DateWord::month, 1);
    add_all(kWeekdays, DateWord::weekday, 0);
    add_all(kPluralWeekdays, DateWord::weekdays, 0);
    add_all(kQuarters, DateWord::quarter, 1);
    add_all(kHalves, DateWord::half, 0);
    for (const std::string_view names : kHolidays) add_all(names, DateWord::holiday, 0);
    add_all(kUnits, DateWord::unit, 0);
    add_all(kPlurals, DateWord::units, 0);
    for (const QuestionWord& word : kOthers) add(word);
  }
  // Returns null for other words. `word`: not empty.
  [[nodiscard]] const QuestionWord* find(std::string_view word) const noexcept {
    if (word.size() > kMaxDateWordBytes || (lengths_[first_of(word)] >> word.size() & 1) == 0) return nullptr;
    for (size_t slot = slot_of(word); !slots_[slot].text.empty(); slot = (slot + 1) % kSlots)
      if (slots_[slot].text == word) return &slots_[slot];
    return nullptr;
  }

 private:
  static constexpr size_t kSlots = 512, kLetters = 32;

  void add_all(std::string_view names, DateWord kind, uint8_t first_value) {
    for (size_t from = 0; from < names.size(); ++first_value) {
      const size_t end = std::min(names.find(' ', from), names.size());
      const std::string_view name = names.substr(from, end - from);
      if (name != kNone) add({name, kind, first_value});
      from = end + 1;
    }
  }
  void add(const QuestionWord& word) {
    size_t slot = slot_of(word.text);
    for (; !slots_[slot].text.empty(); slot = (slot + 1) % kSlots)
      if (slots_[slot].text == word.text) return;
    slots_[slot] = word;
    lengths_[first_of(word.text)] |= 1u << word.text.size();
  }
  // Hash of the first seven bytes of a word and the number of these bytes.
  [[nodiscard]] static size_t slot_of(std::string_view word) noexcept {
    const uint64_t bytes = base::load_bytes(word.data(), std::min<size_t>(word.size(), 7)) + word.size();
    return (bytes * 0x9e3779b97f4a7c15ull) >> 55;
  }
  [[nodiscard]] static size_t first_of(std::string_view word) noexcept {
    return static_cast<unsigned char>(word.front()) % kLetters;
  }

  std::array<uint32_t, kLetters> lengths_{};  // lengths of words by first letter: a quick test
  std::array<QuestionWord, kSlots> slots_{};
};

const DateWordTable& date_word_table() {
  static const auto* const words = new DateWordTable;  // never destroyed: threads may outlive statics
  return *words;
}

constexpr uint8_t kInWord = kAlnum | kBeyondAscii;

bool four_digits(std::string_view word) noexcept {
  return word.size() == 4 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// 5th, 31st.
bool is_nth(std::string_view word) noexcept {
  return word.front() >= '0' && word.front() <= '9' && date_numbers::is_ordinal(word) &&
         date_numbers::day_of(word) != 0;
}

// Whether some word may be part of a date, at a few instructions per byte and without storing anything.
bool any_known(std::string_view utf8) {
  const DateWordTable& table = date_word_table();
  for (size_t at = 0; at < utf8.size();) {
    if ((byte_class(utf8[at]) & kInWord) == 0) {
      ++at;
      continue;
    }
    char word[kMaxDateWordBytes] = {};
    size_t n = 0;
    for (; at < utf8.size() && (byte_class(utf8[at]) & kInWord) != 0; ++at, ++n)
      if (n < kMaxDateWordBytes) word[n] = to_lower(utf8[at]);
    if (n > kMaxDateWordBytes) continue;
    if (four_digits({word, n}) || table.find({word, n}) || is_nth({word, n})) return true;
  }
  return false;
}

char gap_of(std::string_view between) noexcept {
  if (between == "-" || between == "." || between == "/") return between.front();
  return !between.empty() && between.find_first_not_of(" \t\n\r,.") == std::string_view::npos ? ' ' : 'x';
}

}  // namespace

bool QuestionWords::read(std::string_view utf8) {
  words_.clear();
  if (!any_known(utf8)) return false;
  folded_.resize(utf8.size());
  std::transform(utf8.begin(), utf8.end(), folded_.begin(), to_lower);
  const std::string_view folded = folded_;
  size_t end = 0;  // of the previous word
  for (size_t at = 0; at < folded.size();) {
    const size_t from = at;
    while (at < folded.size() && (byte_class(folded[at]) & kInWord) != 0) ++at;
    if (at == from) {
      ++at;
      continue;
    }
    QuestionWord word{folded.substr(from, at - from)};
    if (const QuestionWord* date_word = date_word_table().find(word.text))
      word = {word.text, date_word->kind, date_word->value};
    word.gap = gap_of(folded.substr(end, from - end));
    words_.push_back(word);
    end = at;
  }
  return true;
}

}  // namespace scrubjay::text
