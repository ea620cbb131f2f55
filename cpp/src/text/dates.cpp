#include "text/dates.hpp"

#include <array>
#include <initializer_list>
#include <utility>

#include "text/date_numbers.hpp"
#include "text/date_windows.hpp"

namespace scrubjay::text {
namespace {

using date_numbers::count_of;
using date_numbers::day_of;
using date_numbers::is_among;
using date_numbers::is_ordinal;
using date_numbers::number;
using date_numbers::small_number;
using date_numbers::year_of;

// After the sixth word, or in a longer question, "current" is an attribute and not a time.
constexpr size_t kLatestWithin = 6, kLatestWords = 16;

bool is_past(std::string_view word) noexcept { return is_among(word, {"last", "past", "previous"}); }
bool is_of(std::string_view word) noexcept { return is_among(word, {"of", "de"}); }
bool is_relation(std::string_view word) noexcept { return is_among(word, {"before", "after", "since"}); }
bool before_month(std::string_view word) noexcept {
  return is_past(word) || is_relation(word) ||
         is_among(word, {"in", "during", "this", "early", "late", "mid", "im"});
}
bool before_year(std::string_view word) noexcept {
  return is_relation(word) || is_among(word, {"in", "during", "throughout"});
}
bool before_day(std::string_view word) noexcept {
  return is_relation(word) || is_among(word, {"on", "last", "am"});
}
bool precedes_last(std::string_view word) noexcept {
  return is_among(word, {"in", "over", "during", "within", "for", "from", "of"});
}
// A deadline, or the end of a span.
bool is_due(std::string_view word) noexcept {
  return is_among(word, {"by", "until", "till", "from", "to", "due", "for", "than", "through"});
}
// Behind the number of a day, where it is no number of something else (the 5th floor).
bool goes_on(std::string_view word) noexcept {
  return is_among(word, {"who",  "what", "which", "where", "when",  "why", "how",  "did",   "do",
                         "does", "was",  "were",  "had",   "have",  "has", "we",   "i",     "he",
                         "she",  "they", "you",   "it",    "there", "at",  "with", "about", "by"});
}
// Where the question speaks of what was: of each Christmas otherwise.
bool before_holiday(std::string_view word) noexcept {
  return is_among(word, {"over", "at", "around", "during", "on", "this", "an", "zu"});
}
// The first of its four months; -1: it says no part of a year.
int third_of(std::string_view word) noexcept {
  return is_among(word, {"early", "beginning", "start"}) ? 0
         : is_among(word, {"mid", "middle"})             ? 1
         : is_among(word, {"late", "end"})               ? 2
                                                         : -1;
}
// "First" to "fourth"; 0: another word.
int rank_of(std::string_view word) noexcept {
  constexpr std::string_view kRanks[] = {"first", "second", "third", "fourth", "1st", "2nd", "3rd", "4th"};
  const auto* const at = std::find(std::begin(kRanks), std::end(kRanks), word);
  return at == std::end(kRanks) ? 0 : static_cast<int>(at - std::begin(kRanks)) % 4 + 1;
}
bool says_future(std::string_view word) noexcept {
  return is_among(word, {"will", "shall", "ll", "going", "gonna", "wont", "tomorrow", "next", "upcoming"});
}
bool before_negated(std::string_view word) noexcept {
  return before_month(word) || before_day(word) || is_among(word, {"the", "throughout", "at", "from", "of"});
}

}  // namespace

// Matches the patterns at each word in turn. Each pattern returns the number of words it matched;
// 0: no match.
class DateFinder {
 public:
  DateFinder(Dates& out, int64_t now_us)
      : words_(out.question_.words()), windows_(out.windows_, out.terms_, now_us), out_(out) {}

  void run() {
    for (size_t place = 0; place < words_.size();) place += std::max<size_t>(1, at(place));
  }

 private:
  using Terms = DateWindows::Terms;

  // The word at a position, if `gap` is between it and the previous word.
  [[nodiscard]] std::string_view text(size_t place, char gap = ' ') const noexcept {
    return place < words_.size() && words_[place].gap == gap ? words_[place].text : std::string_view();
  }
  // The kind of that word.
  [[nodiscard]] DateWord kind(size_t place, char gap = ' ') const noexcept {
    return text(place, gap).empty() ? DateWord::other : words_[place].kind;
  }
  // The word before a position, if only blanks are between.
  [[nodiscard]] std::string_view before(size_t place) const noexcept {
    return place > 0 && words_[place].gap == ' ' ? words_[place - 1].text : std::string_view();
  }
  // The same, skipping "the".
  [[nodiscard]] std::string_view before_the(size_t place) const noexcept {
    return before(place) == "the" ? before(place - 1) : before(place);
  }
  // A year, optionally after "of", and the number of words.
  [[nodiscard]] std::pair<int, size_t> year_behind(size_t place) const noexcept {
    if (const int year = year_of(text(place))) return {year, 1};
    if (is_of(text(place)))
      if (const int year = year_of(text(place + 1))) return {year, 2};
    return {0, 0};
  }
  [[nodiscard]] static bool is_month(DateWord kind) noexcept {
    return kind == DateWord::month || kind == DateWord::plain_month || kind == DateWord::short_month;
  }
  [[nodiscard]] static bool is_unit(DateWord kind) noexcept {
    return kind == DateWord::unit || kind == DateWord::units;
  }

  [[nodiscard]] size_t at(size_t place) {
    windows_.relate(relation_of(place));
    for (const auto pattern :
         {&DateFinder::range, &DateFinder::numeric, &DateFinder::day_month, &DateFinder::nth_day,
          &DateFinder::year, &DateFinder::month, &DateFinder::season, &DateFinder::quarter, &DateFinder::part,
          &DateFinder::week_of_month, &DateFinder::holiday, &DateFinder::new_year, &DateFinder::last_units,
          &DateFinder::ago, &DateFinder::before_last, &DateFinder::relative})
      if (const size_t n_words = (this->*pattern)(place)) return n_words;
    newest(place);
    return 0;
  }

  // Before May, after 2024, since Monday; not in May. "The week before 8 May" is near that day and
  // gives no relation.
  [[nodiscard]] DateRelation relation_of(size_t place) const noexcept {
    constexpr size_t kMostBetween = 3;
    size_t first = place;
    for (size_t n = 0; n < kMostBetween && before_negated(before(first)); ++n) --first;
    if (before(first) == "not") return DateRelation::none;
    size_t named = place;
    while (is_past(before(named)) || is_among(before(named), {"the", "this"})) --named;
    const std::string_view word = before(named);
    if (!is_relation(word)) return DateRelation::at;
    if (!before(named - 1).empty()) {
      const DateWord of = words_[named - 2].kind;
      if (is_unit(of) || of == DateWord::weekday || of == DateWord::night) return DateRelation::at;
    }
    return word == "before"  ? DateRelation::before
           : word == "after" ? DateRelation::after
                             : DateRelation::since;
  }

  // Whether the question ends before a place, or goes on with a word that no number before it counts.
  [[nodiscard]] bool ends_or_goes_on(size_t place) const noexcept {
    return place >= words_.size() || words_[place].gap != ' ' || goes_on(words_[place].text);
  }
  // "Of last year" and "of this year", as years back from now; -1: that does not stand there.
  [[nodiscard]] int year_back(size_t place) const noexcept {
    if (!windows_.has_today() || text(place) != "of" || text(place + 2) != "year") return -1;
    return text(place + 1) == "this" ? 0 : is_past(text(place + 1)) ? 1 : -1;
  }

  // Between March and May 2023, from 2019 to 2021.
  size_t range(size_t place) {
    const bool between = before(place) == "between";
    if (!between && before(place) != "from") return 0;
    struct End {
      int year, month;
      size_t n_words;
    };
    const auto end_at = [&](size_t at) {
      if (const int year = year_of(text(at))) return End{year, 0, 1};
      if (!is_month(kind(at))) return End{0, 0, 0};
      const auto [year, n_more] = year_behind(at + 1);
      return End{year, words_[at].value, 1 + n_more};
    };
    const End first = end_at(place);
    const size_t link = place + first.n_words;
    if (first.n_words == 0 ||
        !(between ? text(link) == "and" : is_among(text(link), {"to", "until", "till", "through"})))
      return 0;
    const End last = end_at(link + 1);
    const size_t behind = link + 1 + last.n_words;
    if (last.n_words == 0 || (first.month == 0) != (last.month == 0)) return 0;
    const bool known = first.month == 0
                           ? ends_or_goes_on(behind) && windows_.try_years(first.year, last.year)
                           : (windows_.has_today() || last.year != 0) &&
                                 windows_.try_months(first.year, first.month, last.year, last.month);
    return known ? behind - place : 0;
  }

  // 2023-05-08, 8.5.2023, 31/1/2023 (but not 5/8/2023, whose month is ambiguous), 05/2023, in 2023-05.
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
          windows_.add_month(year, month, {{word.data(), word.size() + 1 + second.size()}});
          return 2;
        }
      } else {
        day = small_number(word), month = small_number(second), year = year_of(third);
        if (gap == '/' && third.empty() && day >= 1 && day <= 12 && words_[place].gap != '/' &&
            year_of(second)) {
          windows_.add_month(year_of(second), day, {{word.data(), word.size() + 1 + second.size()}});
          return 2;
        }
        if (gap == '/' && month > 12) {
          std::swap(day, month);
        } else if (gap == '/' && day <= 12 && day != month) {
          continue;
        }
      }
      // They are adjacent in the question.
      const std::string_view written(word.data(), word.size() + second.size() + third.size() + 2);
      if (year && month && day && windows_.try_day(year, month, day, {written})) return 3;
    }
    return 0;
  }

  // Whether a day without a year is a date: after "on", or with a month that is not another word, and
  // not a deadline.
  [[nodiscard]] bool names_day(size_t first, size_t month, std::string_view day, bool of) const noexcept {
    const QuestionWord& name = words_[month];
    if (name.kind == DateWord::month) return false;
    const bool plain = name.kind == DateWord::plain_month;
    if (plain && before_day(before_the(first))) return true;
    const bool certain = !is_among(name.text, {"may", "march", "mai"}) || is_ordinal(day) || of;
    return certain && !is_due(before_the(first)) && !is_among(before_the(first), {"and", "or"});
  }

  // 8 May 2023, 8th of May, 2023; on 8 May; 2nd November.
  size_t day_month(size_t place) {
    const std::string_view word = words_[place].text;
    const int day = day_of(word);
    if (!day) return 0;
    const size_t n = is_of(text(place + 1)) ? 2 : 1;
    const std::string_view name = text(place + n);
    if (!is_month(kind(place + n))) return 0;
    const int month = words_[place + n].value;
    const auto [year, n_more] = year_behind(place + n + 1);
    const bool is_date =
        year ? windows_.try_day(year, month, day, {word, name, text(place + n + n_more)})
             : names_day(place, place + n, word, n == 2) && windows_.try_recent_day(month, day, {word, name});
    return is_date ? n + 1 + n_more : 0;
  }

  // On the 5th, since the 5th of last month.
  size_t nth_day(size_t place) {
    const std::string_view word = words_[place].text;
    const int day = day_of(word);
    if (!windows_.has_today() || !day || !is_ordinal(word)) return 0;
    if (before(place) != "the" || !before_day(before(place - 1))) return 0;
    const std::string_view which = text(place + 2);
    if (text(place + 1) == "of" && text(place + 3) == "month" &&
        (is_past(which) || is_among(which, {"this", "the"}))) {
      const bool known = which == "the" ? windows_.try_recent_number(day)
                                        : windows_.try_number(day, which == "this" ? 0 : 1);
      return known ? 4 : 0;
    }
    if (!ends_or_goes_on(place + 1) || asks_of_the_future()) return 0;
    return windows_.try_recent_number(day) ? 1 : 0;
  }

  // In 2023, in late 2023, since mid-2023, at the end of 2023.
  size_t year(size_t place) {
    const std::string_view word = words_[place].text;
    const int year = year_of(word);
    if (!year) return 0;
    if (part_of_year(place, year)) return 1;
    if (!before_year(before(place))) return 0;
    if (kind(place + 1) == DateWord::quarter || kind(place + 1, '-') == DateWord::quarter) return 0;
    windows_.add_year(year, {word});
    return 1;
  }

  bool part_of_year(size_t place, int year) {
    const bool of = before(place) == "of";
    const bool joined = place > 0 && words_[place].gap == '-' && words_[place - 1].text == "mid";
    if (!of && !joined && before(place).empty()) return false;
    const size_t named = of ? place - 1 : place;  // behind the word that says which part
    const int third = joined ? 1 : third_of(before(named));
    if (third < 0 || of != is_among(words_[named - 1].text, {"beginning", "start", "middle", "end"}))
      return false;
    if (of ? is_due(before_the(named - 1)) : !before_year(before(named - 1))) return false;
    windows_.relate(relation_of(named - 1));
    windows_.add_third(year, third);
    return true;
  }
  // At the end of May.
  [[nodiscard]] bool is_part_of_month(size_t place) const noexcept {
    return before(place) == "of" && is_among(before(place - 1), {"beginning", "start", "middle", "end"}) &&
           !is_due(before_the(place - 2));
  }

  // May 2023, May 8, 2023, on May 8, Nov 8, in May, last May.
  size_t month(size_t place) {
    const QuestionWord& word = words_[place];
    if (!is_month(word.kind)) return 0;
    const int month = word.value;
    if (const auto [year, n_more] = year_behind(place + 1); year) {
      windows_.add_month(year, month, {word.text, text(place + n_more)});
      return 1 + n_more;
    }
    const std::string_view word_before = before(place), second = text(place + 1), third = text(place + 2);
    if (const int day = day_of(second)) {
      if (const int year = year_of(third))
        return windows_.try_day(year, month, day, {word.text, second, third}) ? 3 : 0;
      const bool named = names_day(place, place, second, false);
      return named && windows_.try_recent_day(month, day, {word.text, second}) ? 2 : 0;
    }
    if (word.kind != DateWord::plain_month || !windows_.has_today()) return 0;
    if (!before_month(word_before) && !is_part_of_month(place)) return 0;
    // The most recent one that has begun, or after "last" that has ended.
    windows_.add_recent_month(month, is_past(word_before));
    return 1;
  }

  // Summer 2023, last summer, this summer.
  size_t season(size_t place) {
    if (words_[place].kind != DateWord::season) return 0;
    const int first = words_[place].value;
    const auto [year, n_more] = year_behind(place + 1);
    if (year) {
      windows_.add_season(year, first);
      return 1 + n_more;
    }
    const bool past = is_past(before(place));
    if (!windows_.has_today() || !(past || before(place) == "this")) return 0;
    windows_.add_recent_season(first, past);
    return 1;
  }

  // Q3 2023, 2023 Q3, 2023-Q3, in Q3, last Q3.
  size_t quarter(size_t place) {
    const QuestionWord& word = words_[place];
    if (const int year = year_of(word.text)) {
      for (const char gap : {' ', '-'}) {
        if (kind(place + 1, gap) != DateWord::quarter) continue;
        windows_.add_quarter(year, words_[place + 1].value, {});
        return 2;
      }
    }
    if (word.kind != DateWord::quarter) return 0;
    if (const auto [year, n_more] = year_behind(place + 1); year) {
      windows_.add_quarter(year, word.value, {word.text, text(place + n_more)});
      return 1 + n_more;
    }
    if (!windows_.has_today() || !before_month(before_the(place))) return 0;
    windows_.add_recent_quarter(word.value, is_past(before(place)));
    return 1;
  }

  // In the third quarter of 2023, the second half of last year, H1 2024.
  size_t part(size_t place) {
    const QuestionWord& word = words_[place];
    const bool quarter = word.kind == DateWord::unit && word.text == "quarter";
    if (!quarter && word.kind != DateWord::half) return 0;
    int rank = word.value;
    if (quarter || rank == 0) {
      rank = rank_of(before(place));
      if (is_among(before(place), {"last", "final"})) rank = quarter ? 4 : 0;
      if (rank == 0 || (!quarter && rank > 2)) return 0;
      windows_.relate(relation_of(place - 1));
    }
    const auto add = [&](int year) {
      if (quarter) return windows_.add_quarter(year, rank, {});
      windows_.add_half(year, rank);
    };
    if (const auto [year, n_more] = year_behind(place + 1); year) {
      add(year);
      return 1 + n_more;
    }
    if (const int back = year_back(place + 1); back >= 0) {
      add(windows_.year() - back);
      return 4;
    }
    return 0;
  }

  // In the second week of November, on the last weekend of May 2023.
  size_t week_of_month(size_t place) {
    const QuestionWord& word = words_[place];
    if (word.kind != DateWord::unit || !is_among(word.text, {"week", "weekend"}) || text(place + 1) != "of" ||
        !is_month(kind(place + 2)))
      return 0;
    const std::string_view which = before(place);
    const int n = is_among(which, {"last", "final"}) ? DateWindows::kLast : rank_of(which);
    const auto [year, n_more] = year_behind(place + 3);
    const QuestionWord& name = words_[place + 2];
    if (n == 0 || (year == 0 && (!windows_.has_today() || name.kind != DateWord::plain_month))) return 0;
    windows_.relate(relation_of(place - 1));
    windows_.add_week_of_month(year != 0 ? year : windows_.recent_year_of(name.value), name.value,
                               static_cast<DateUnit>(word.value), n);
    return 3 + n_more;
  }

  // Last Christmas, since Easter, Easter 2023.
  size_t holiday(size_t place) {
    const QuestionWord& word = words_[place];
    if (word.kind != DateWord::holiday) return 0;
    const auto holiday = static_cast<Holiday>(word.value);
    const size_t n = is_among(text(place + 1), {"eve", "day"}) ? 2 : 1;
    if (const auto [year, n_more] = year_behind(place + n); year) {
      windows_.add_holiday(holiday, is_among(word.text, {"silvester", "nochevieja"}) ? year + 1 : year,
                           {word.text, text(place + n + n_more - 1)});
      return n + n_more;
    }
    if (!names_holiday(place)) return 0;
    windows_.add_recent_holiday(holiday, is_past(before(place)));
    return n;
  }

  // Over New Year, on New Year's Eve 2022.
  size_t new_year(size_t place) {
    if (words_[place].text != "new" || !is_among(text(place + 1), {"year", "years", "year\u2019s"})) return 0;
    size_t n = place + 2 < words_.size() && words_[place + 2].text == "s" ? 3 : 2;
    const bool eve = text(place + n) == "eve";
    n += eve || text(place + n) == "day" ? 1 : 0;
    if (const auto [year, n_more] = year_behind(place + n); year) {
      windows_.add_holiday(Holiday::new_year, eve ? year + 1 : year, {});
      return n + n_more;
    }
    if (!names_holiday(place)) return 0;
    windows_.add_recent_holiday(Holiday::new_year, is_past(before(place)));
    return n;
  }

  // A number of units, or the range that "a few" and the like may mean; and the number of words.
  struct Count {
    int least = 0, most = 0;
    size_t n_words = 0;
  };
  [[nodiscard]] Count count(size_t place) const noexcept {
    if (place >= words_.size()) return {};
    const std::string_view word = words_[place].text;
    if (word == "few") return {2, 5, 1};
    if (word == "several") return {3, 9, 1};
    if (word == "couple") return {2, 3, text(place + 1) == "of" ? size_t{2} : size_t{1}};
    const int n = count_of(word);
    return n ? Count{n, n, 1} : Count{};
  }

  // In the last 7 days, over the past few weeks.
  size_t last_units(size_t place) {
    if (!windows_.has_today() || !is_past(words_[place].text) || !precedes_last(before_the(place))) return 0;
    if (text(place + 1).empty()) return 0;
    const Count n = count(place + 1);
    const size_t unit = place + 1 + n.n_words;
    if (n.n_words == 0 || !is_unit(kind(unit)) || words_[unit].text == "weekend") return 0;
    windows_.add_last(static_cast<DateUnit>(words_[unit].value), n.most);
    return unit + 1 - place;
  }

  // Two weeks ago, a few days ago, a couple of months ago, two Fridays ago.
  size_t ago(size_t place) {
    if (!windows_.has_today()) return 0;
    const Count n = count(place);
    const size_t unit = place + n.n_words;
    if (n.n_words == 0 || kind(unit + 1) != DateWord::ago) return 0;
    if (n.least == n.most && kind(unit) == DateWord::weekdays) {
      windows_.add_last_weekday(words_[unit].value, n.most - 1);
      return n.n_words + 2;
    }
    if (!is_unit(kind(unit)) || words_[unit].text == "weekend") return 0;
    windows_.add_ago(static_cast<DateUnit>(words_[unit].value), n.least, n.most);
    return n.n_words + 2;
  }

  // The week before last, the Friday before last, the week before last week.
  size_t before_last(size_t place) {
    const QuestionWord& word = words_[place];
    const bool unit = word.kind == DateWord::unit && !is_among(word.text, {"day", "fortnight"});
    const bool named = unit || word.kind == DateWord::weekday || word.kind == DateWord::night;
    if (!windows_.has_today() || !named) return 0;
    if (text(place + 1) != "before" || text(place + 2) != "last") return 0;
    const bool again = text(place + 3) == word.text;
    if (!again && (kind(place + 3) != DateWord::other || count(place + 3).n_words != 0)) return 0;
    if (unit) {
      windows_.add_calendar(static_cast<DateUnit>(word.value), 2);
    } else if (word.kind == DateWord::weekday) {
      windows_.add_last_weekday(word.value, 1);
    } else {
      windows_.add_day_before_yesterday();
    }
    return again ? 4 : 3;
  }

  // Yesterday, the day before yesterday, last night, last Monday, on Monday, this week, in the past year.
  size_t relative(size_t place) {
    if (!windows_.has_today()) return 0;
    const QuestionWord& word = words_[place];
    const std::string_view word_before = before(place);
    if (word.text == "day" && text(place + 1) == "before" && kind(place + 2) == DateWord::yesterday) {
      windows_.add_day_before_yesterday();
      return 3;
    }
    if (word.kind == DateWord::before_yesterday) {
      windows_.add_day_before_yesterday();
    } else if (word.kind == DateWord::yesterday || (word.kind == DateWord::night && word_before == "last")) {
      windows_.add_yesterday();
    } else if (word.kind == DateWord::today ||
               (word.kind == DateWord::part_of_day && word_before == "this")) {
      windows_.add_today();
    } else if (word.kind == DateWord::weekday &&
               (is_past(word_before) || (is_among(word_before, {"on", "since", "after"}) &&
                                         !says_which(place + 1) && !asks_of_the_future()))) {
      windows_.add_last_weekday(word.value);
    } else if (word.kind == DateWord::unit && word.text != "day" && text(place + 1) != "of" &&
               (is_past(word_before) || (word_before == "this" && word.text != "fortnight"))) {
      const bool until_now = is_among(word_before, {"last", "past"}) && before(place - 1) == "the" &&
                             precedes_last(before(place - 2)) && word.text != "weekend";
      if (until_now || word.text == "fortnight") {
        windows_.add_last(static_cast<DateUnit>(word.value), 1);
        return 1;
      }
      windows_.add_calendar(static_cast<DateUnit>(word.value), word_before == "this" ? 0 : 1);
    } else {
      return 0;
    }
    return 1;
  }

  // On Monday, 8 May: the date decides; on Monday and Friday, on Monday mornings: each of them.
  [[nodiscard]] bool says_which(size_t place) const noexcept {
    const std::string_view next = text(place);
    if (is_relation(next) || is_among(next, {"and", "or", "mornings", "afternoons", "evenings", "nights"}))
      return true;
    if (next == "the") ++place;
    return number(text(place), 4) >= 0 || day_of(text(place)) || is_month(kind(place));
  }
  // Last Christmas, since Easter; over Christmas, if the question speaks of what was.
  [[nodiscard]] bool names_holiday(size_t place) const noexcept {
    if (!windows_.has_today() || asks_of_the_future()) return false;
    const std::string_view word = before_the(place);
    return is_past(word) || is_relation(word) ||
           (before_holiday(word) && std::any_of(words_.begin(), words_.end(), [](const QuestionWord& one) {
              return is_among(one.text, {"did", "was", "were", "had", "war", "waren", "hatte", "hatten"});
            }));
  }
  // Then "on Monday" is the next one.
  [[nodiscard]] bool asks_of_the_future() const noexcept {
    return std::any_of(words_.begin(), words_.end(),
                       [](const QuestionWord& word) { return says_future(word.text); });
  }

  void newest(size_t place) {
    const QuestionWord& word = words_[place];
    if (word.kind != DateWord::newest || place >= kLatestWithin || words_.size() > kLatestWords) return;
    if (word.value == 0 || before(place) == "most") out_.latest_ = true;
  }

  const std::vector<QuestionWord>& words_;
  DateWindows windows_;
  Dates& out_;
};

void Dates::resolve(int64_t now_us) { DateFinder(*this, now_us).run(); }

}  // namespace scrubjay::text
