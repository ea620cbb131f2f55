#include "text/dates.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>

namespace scrubjay::text {
namespace {

using std::chrono::year_month_day;

constexpr int kFirstYear = 1900, kLastYear = 2100;
// Further on than the sixth word, or in a longer question, "current" says which, not when.
constexpr size_t kLatestWithin = 6, kLatestWords = 16;

constexpr std::string_view kNumbers[] = {"one",   "two",   "three", "four", "five",   "six",
                                         "seven", "eight", "nine",  "ten",  "eleven", "twelve"};

bool is_among(std::string_view word, std::initializer_list<std::string_view> words) noexcept {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool is_past(std::string_view word) noexcept { return is_among(word, {"last", "past", "previous"}); }
bool is_of(std::string_view word) noexcept { return is_among(word, {"of", "de"}); }
bool before_month(std::string_view word) noexcept {
  return is_past(word) || is_among(word, {"in", "during", "this", "early", "late", "mid", "since", "im"});
}
bool before_year(std::string_view word) noexcept { return is_among(word, {"in", "during", "throughout"}); }
bool before_day(std::string_view word) noexcept { return is_among(word, {"on", "last", "am"}); }

// Of one to `most_digits` digits and nothing else; -1: it is no such number.
int number(std::string_view word, size_t most_digits) noexcept {
  if (word.empty() || word.size() > most_digits) return -1;
  int value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}
// 0: it is none.
int small_number(std::string_view word) noexcept { return std::max(number(word, 2), 0); }
int year_of(std::string_view word) noexcept {
  const int value = word.size() == 4 ? number(word, 4) : -1;
  return value >= kFirstYear && value <= kLastYear ? value : 0;
}
int day_of(std::string_view word) noexcept {
  if (word.size() > 2 && is_among(word.substr(word.size() - 2), {"st", "nd", "rd", "th"}))
    word.remove_suffix(2);
  const int value = small_number(word);
  return value <= 31 ? value : 0;
}

year_month_day date(int year, int month, int day) noexcept {
  return year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                        std::chrono::day(static_cast<unsigned>(day)));
}
int days(int year, int month, int day = 1) noexcept {
  return static_cast<int>(std::chrono::sys_days(date(year, month, day)).time_since_epoch().count());
}
bool day_exists(int year, int month, int day) noexcept {
  return year >= kFirstYear && year <= kLastYear && date(year, month, day).ok();
}

}  // namespace

// One pattern after the other at each word. Each says how many words it took; 0: it does not stand there.
class DateFinder {
 public:
  DateFinder(Dates& out, int64_t now_us) : words_(out.question_.words()), out_(out) {
    int64_t day = now_us / kDayUs;
    if (now_us % kDayUs < 0) --day;
    has_today_ = day >= days(kFirstYear, 1) && day <= days(kLastYear, 12, 31);
    if (!has_today_) return;
    today_ = static_cast<int>(day);
    const year_month_day now{std::chrono::sys_days{std::chrono::days{today_}}};
    year_ = static_cast<int>(now.year());
    month_ = static_cast<int>(static_cast<unsigned>(now.month()));
    weekday_ = (today_ % 7 + 7 + 3) % 7;  // 1970-01-01 was a Thursday
  }

  void run() {
    for (size_t place = 0; place < words_.size();) place += std::max<size_t>(1, at(place));
  }

 private:
  using Terms = std::initializer_list<std::string_view>;

  // The word at a place, if this is between it and the word before.
  [[nodiscard]] std::string_view text(size_t place, char gap = ' ') const noexcept {
    return place < words_.size() && words_[place].gap == gap ? words_[place].text : std::string_view();
  }
  // The word before a place, if only blanks are between.
  [[nodiscard]] std::string_view before(size_t place) const noexcept {
    return place > 0 && words_[place].gap == ' ' ? words_[place - 1].text : std::string_view();
  }
  // Without "the".
  [[nodiscard]] std::string_view before_the(size_t place) const noexcept {
    return before(place) == "the" ? before(place - 1) : before(place);
  }
  // A year, perhaps after "of", and how many words that is.
  [[nodiscard]] std::pair<int, size_t> year_behind(size_t place) const noexcept {
    if (const int year = year_of(text(place))) return {year, 1};
    if (is_of(text(place)))
      if (const int year = year_of(text(place + 1))) return {year, 2};
    return {0, 0};
  }
  [[nodiscard]] static bool is_month(const QuestionWord& word) noexcept {
    return word.kind == DateWord::month || word.kind == DateWord::plain_month;
  }

  [[nodiscard]] size_t at(size_t place) {
    for (const auto pattern : {&DateFinder::numeric, &DateFinder::day_month, &DateFinder::year,
                               &DateFinder::month, &DateFinder::season, &DateFinder::relative})
      if (const size_t n_words = (this->*pattern)(place)) return n_words;
    newest(place);
    return 0;
  }

  // 2023-05-08, 8.5.2023, 31/1/2023 (but not 5/8/2023: which is the month?), in 2023-05.
  size_t numeric(size_t place) {
    const std::string_view word = words_[place].text;
    if (number(word, 4) < 0) return 0;
    for (const char gap : {'-', '.', '/'}) {
      const std::string_view second = text(place + 1, gap), third = text(place + 2, gap);
      if (second.empty()) continue;
      int year, month, day;
      if (gap == '-') {
        year = year_of(word), month = small_number(second), day = small_number(third);
        if (year && month >= 1 && month <= 12 && third.empty() && before_year(before(place))) {
          add_month(year, month, {{word.data(), word.size() + 1 + second.size()}});
          return 2;
        }
      } else {
        day = small_number(word), month = small_number(second), year = year_of(third);
        if (gap == '/' && month > 12) {
          std::swap(day, month);
        } else if (gap == '/' && day <= 12 && day != month) {
          continue;
        }
      }
      if (year && month && day && day_exists(year, month, day)) {
        // They stand side by side in the question.
        add_day(days(year, month, day), {{word.data(), word.size() + second.size() + third.size() + 2}});
        return 3;
      }
    }
    return 0;
  }

  // 8 May 2023, 8th of May, 2023; on 8 May.
  size_t day_month(size_t place) {
    const std::string_view word = words_[place].text;
    const int day = day_of(word);
    if (!day) return 0;
    const size_t n = is_of(text(place + 1)) ? 2 : 1;
    const std::string_view name = text(place + n);
    if (name.empty() || !is_month(words_[place + n])) return 0;
    const int month = words_[place + n].value;
    const auto [year, n_more] = year_behind(place + n + 1);
    bool known;
    if (year) {
      known = try_day(year, month, day, {word, name, text(place + n + n_more)});
    } else {
      known = words_[place + n].kind == DateWord::plain_month && before_day(before_the(place)) &&
              recent_day(month, day, {word, name});
    }
    return known ? n + 1 + n_more : 0;
  }

  size_t year(size_t place) {
    const std::string_view word = words_[place].text;
    const int year = year_of(word);
    if (!year || !before_year(before(place))) return 0;
    add({days(year, 1), days(year + 1, 1), 0, 0.0}, {word});
    return 1;
  }

  // May 2023, May 8, 2023, on May 8, in May, last May.
  size_t month(size_t place) {
    const QuestionWord& word = words_[place];
    if (!is_month(word)) return 0;
    const int month = word.value;
    if (const auto [year, n_more] = year_behind(place + 1); year) {
      add_month(year, month, {word.text, text(place + n_more)});
      return 1 + n_more;
    }
    const bool plain = word.kind == DateWord::plain_month;
    const std::string_view word_before = before(place), second = text(place + 1), third = text(place + 2);
    if (const int day = day_of(second)) {
      if (const int year = year_of(third))
        return try_day(year, month, day, {word.text, second, third}) ? 3 : 0;
      return plain && before_day(word_before) && recent_day(month, day, {word.text, second}) ? 2 : 0;
    }
    if (!plain || !before_month(word_before) || !has_today_) return 0;
    // The last one that has begun; "last" means one that is over.
    const bool earlier = month > month_ || (is_past(word_before) && month == month_);
    add_month(earlier ? year_ - 1 : year_, month, {});
    return 1;
  }

  // Summer 2023, last summer, this summer.
  size_t season(size_t place) {
    if (words_[place].kind != DateWord::season) return 0;
    const int first = words_[place].value;
    const auto end = [&](int year) { return first == 12 ? days(year + 1, 3) : days(year, first + 3); };
    auto [year, n_more] = year_behind(place + 1);
    if (!year) {
      const bool past = is_past(before(place));
      if (!has_today_ || !(past || before(place) == "this")) return 0;
      // The last one that is over, or that has begun.
      for (year = year_; (past ? end(year) : days(year, first)) > today_;) --year;
    }
    add({days(year, first), end(year), 7, 0.5}, {});
    return 1 + n_more;
  }

  // Yesterday, last night, last Monday, this week, two weeks ago.
  size_t relative(size_t place) {
    if (!has_today_) return 0;
    const QuestionWord& word = words_[place];
    const std::string_view word_before = before(place);
    if (word.kind == DateWord::yesterday || (word.kind == DateWord::night && word_before == "last")) {
      add_day(today_ - 1, {});
    } else if (word.kind == DateWord::today) {
      add_day(today_, {});
    } else if (word.kind == DateWord::weekday && is_past(word_before)) {
      const int back = (weekday_ - word.value + 7) % 7;
      add_day(today_ - (back != 0 ? back : 7), {});
    } else if (word.kind == DateWord::unit && word.text != "day" &&
               (is_past(word_before) || word_before == "this")) {
      add_calendar(static_cast<DateUnit>(word.value), word_before == "this" ? 0 : 1);
    } else if (!text(place + 2).empty() && words_[place + 2].kind == DateWord::ago) {
      return ago(place) ? 3 : 0;
    } else {
      return 0;
    }
    return 1;
  }

  bool ago(size_t place) {
    if (text(place + 1).empty()) return false;
    const QuestionWord& unit = words_[place + 1];
    if ((unit.kind != DateWord::unit && unit.kind != DateWord::units) || unit.text == "weekend") return false;
    const std::string_view word = words_[place].text;
    int count = std::max(number(word, 3), 0);
    if (word == "a" || word == "an") count = 1;
    for (size_t i = 0; i < std::size(kNumbers); ++i)
      if (word == kNumbers[i]) count = static_cast<int>(i) + 1;
    if (count == 0) return false;
    switch (static_cast<DateUnit>(unit.value)) {
      case DateUnit::day:
        add_day(today_ - count, {});
        break;
      case DateUnit::week:
        add({today_ - 7 * count - 3, today_ - 7 * count + 4, 3, 0.5}, {});
        break;
      default:
        add_calendar(static_cast<DateUnit>(unit.value), count);
    }
    return true;
  }

  // The week, weekend, month or year so many before this one.
  void add_calendar(DateUnit unit, int back) {
    if (unit == DateUnit::year) {
      const int year = year_ - back;
      if (year >= kFirstYear) add({days(year, 1), days(year + 1, 1), 7, 0.5}, {});
    } else if (unit == DateUnit::month) {
      const int months = 12 * year_ + month_ - 1 - back;
      add_month(months / 12, months % 12 + 1, {});
    } else {
      const int monday = today_ - weekday_ - 7 * back;
      add({monday + (unit == DateUnit::weekend ? 5 : 0), monday + 7, 3, 0.5}, {});
    }
  }

  void newest(size_t place) {
    const QuestionWord& word = words_[place];
    if (word.kind != DateWord::newest || place >= kLatestWithin || words_.size() > kLatestWords) return;
    if (word.value == 0 || before(place) == "most") out_.latest_ = true;
  }

  bool try_day(int year, int month, int day, Terms terms) {
    if (!day_exists(year, month, day)) return false;
    add_day(days(year, month, day), terms);
    return true;
  }
  // The last day of this name until now.
  bool recent_day(int month, int day, Terms terms) {
    constexpr int kLongestGap = 8;  // years, of 29 February
    if (!has_today_) return false;
    for (int year = year_; year >= year_ - kLongestGap; --year)
      if (day_exists(year, month, day) && days(year, month, day) <= today_)
        return try_day(year, month, day, terms);
    return false;
  }
  void add_day(int day, Terms terms) { add({day, day + 2, 7, 0.7}, terms); }
  void add_month(int year, int month, Terms terms) {
    if (year >= kFirstYear) add({days(year, month), days(year + month / 12, month % 12 + 1), 7, 0.5}, terms);
  }

  struct Span {
    int start, end, more;
    double after;
  };
  void add(const Span& span, Terms terms) {
    DateWindow& window = out_.windows_.emplace_back();
    window.start = span.start;
    window.end = span.end;
    window.later = span.end + span.more;
    window.after = span.after;
    window.first_term = static_cast<uint32_t>(out_.terms_.size());
    window.n_terms = static_cast<uint32_t>(terms.size());
    out_.terms_.insert(out_.terms_.end(), terms.begin(), terms.end());
  }

  const std::vector<QuestionWord>& words_;
  Dates& out_;
  bool has_today_ = false;
  int today_ = 0, year_ = 0, month_ = 0, weekday_ = 0;  // of now
};

void Dates::resolve(int64_t now_us) { DateFinder(*this, now_us).run(); }

}  // namespace scrubjay::text
