#include "text/date_windows.hpp"

#include <algorithm>

#include "text/date_numbers.hpp"

namespace scrubjay::text {

using date_numbers::day_exists;
using date_numbers::days;
using date_numbers::kFirstYear;
using date_numbers::kLastYear;

namespace {

// Easter Sunday by the Gregorian calendar (the algorithm of Butcher's Ecclesiastical Calendar, 1876).
int easter(int year) noexcept {
  const int a = year % 19, b = year / 100, c = year % 100;
  const int h = (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30;
  const int l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
  const int m = (a + 11 * h + 22 * l) / 451;
  const int day = h + l - 7 * m + 114;
  return days(year, day / 31, day % 31 + 1);
}

struct DaySpan {
  int start, end;
};

// A new year begins with the eve before it.
DaySpan days_of(Holiday holiday, int year) noexcept {
  switch (holiday) {
    case Holiday::christmas:
      return {days(year, 12, 24), days(year, 12, 27)};
    case Holiday::easter:
      return {easter(year) - 2, easter(year) + 2};
    case Holiday::pentecost:
      return {easter(year) + 48, easter(year) + 51};
    case Holiday::halloween:
      return {days(year, 10, 31), days(year, 11, 2)};
    case Holiday::thanksgiving: {  // the fourth Thursday
      const int first = days(year, 11);
      const int thursday = first + (7 - (first % 7 + 7) % 7) % 7 + 21;  // 1970-01-01 was one
      return {thursday, thursday + 4};
    }
    case Holiday::new_year:
      break;
  }
  return {days(year, 1) - 1, days(year, 1, 2)};
}

}  // namespace

DateWindows::DateWindows(std::vector<DateWindow>& windows, std::vector<std::string>& terms, int64_t now_us)
    : windows_(windows), terms_(terms) {
  int64_t day = now_us / kDayUs;
  if (now_us % kDayUs < 0) --day;
  has_today_ = day >= days(kFirstYear, 1) && day <= days(kLastYear, 12, 31);
  if (!has_today_) return;
  today_ = static_cast<int>(day);
  const std::chrono::year_month_day now{std::chrono::sys_days{std::chrono::days{today_}}};
  year_ = static_cast<int>(now.year());
  month_ = static_cast<int>(static_cast<unsigned>(now.month()));
  weekday_ = (today_ % 7 + 7 + 3) % 7;  // 1970-01-01 was a Thursday
}

bool DateWindows::try_day(int year, int month, int day, Terms terms) {
  if (!day_exists(year, month, day)) return false;
  add_day(days(year, month, day), terms);
  return true;
}

bool DateWindows::try_recent_day(int month, int day, Terms terms) {
  constexpr int kLongestGap = 8;  // years between two 29 Februaries
  if (!has_today_) return false;
  for (int year = year_; year >= year_ - kLongestGap; --year)
    if (day_exists(year, month, day) && days(year, month, day) <= today_)
      return try_day(year, month, day, terms);
  return false;
}

bool DateWindows::try_number(int day, int back) {
  const int month = 12 * year_ + month_ - 1 - back;
  return try_day(month / 12, month % 12 + 1, day, {});
}

bool DateWindows::try_recent_number(int day) {
  constexpr int kLongestGap = 2;  // months, of 31
  for (int back = 0; back <= kLongestGap; ++back) {
    const int month = 12 * year_ + month_ - 1 - back;
    if (day_exists(month / 12, month % 12 + 1, day) && days(month / 12, month % 12 + 1, day) <= today_)
      return try_number(day, back);
  }
  return false;
}

bool DateWindows::try_months(int year, int month, int last_year, int last_month) {
  constexpr int kMost = 60;
  if (last_year == 0) {
    last_year =
        year != 0 ? (last_month < month ? year + 1 : year) : (last_month > month_ ? year_ - 1 : year_);
  }
  if (year == 0) year = month > last_month ? last_year - 1 : last_year;
  const int first = 12 * year + month - 1, n = 12 * last_year + last_month - first;
  if (n < 1 || n > kMost) return false;
  add_months(first, n, {});
  return true;
}

bool DateWindows::try_years(int year, int last_year) {
  if (last_year <= year) return false;
  add_months(12 * year, 12 * (last_year - year + 1), {});
  return true;
}

void DateWindows::add_month(int year, int month, Terms terms) { add_months(12 * year + month - 1, 1, terms); }

void DateWindows::add_recent_month(int month, bool over) {
  const bool earlier = month > month_ || (over && month == month_);
  add_month(earlier ? year_ - 1 : year_, month, {});
}

void DateWindows::add_season(int year, int first_month) {
  const int end = first_month == 12 ? days(year + 1, 3) : days(year, first_month + 3);
  add({days(year, first_month), end, 7, 0.5}, end, {});
}

void DateWindows::add_recent_season(int first_month, bool over) {
  int year = year_;
  const auto end = [&] { return first_month == 12 ? days(year + 1, 3) : days(year, first_month + 3); };
  while ((over ? end() : days(year, first_month)) > today_) --year;
  add_season(year, first_month);
}

void DateWindows::add_quarter(int year, int quarter, Terms terms) {
  add_months(12 * year + 3 * (quarter - 1), 3, terms);
}

void DateWindows::add_recent_quarter(int quarter, bool over) {
  const int now = (month_ - 1) / 3 + 1;
  const bool earlier = quarter > now || (over && quarter == now);
  add_quarter(earlier ? year_ - 1 : year_, quarter, {});
}

void DateWindows::add_half(int year, int half) { add_months(12 * year + 6 * (half - 1), 6, {}); }

void DateWindows::add_week_of_month(int year, int month, DateUnit unit, int n) {
  const int first = days(year, month), next = days(month == 12 ? year + 1 : year, month % 12 + 1);
  int start = n == kLast ? next - 7 : first + 7 * (n - 1), end = start + 7;
  if (unit == DateUnit::weekend) {
    const int saturday = first + (7 - (first % 7 + 7 + 5) % 7) % 7;  // 1970-01-03 was one
    start = saturday + 7 * (n == kLast ? (next - 1 - saturday) / 7 : n - 1);
    end = start + 2;
  }
  add({start, end, 3, 0.5}, end, {});
}

void DateWindows::add_third(int year, int third) { add_months(12 * year + 4 * third, 4, {}); }

void DateWindows::add_holiday(Holiday holiday, int year, Terms terms) {
  const auto [start, end] = days_of(holiday, year);
  add({start, end, 7, 0.5}, end, terms);
}

void DateWindows::add_recent_holiday(Holiday holiday, bool over) {
  int year = year_ + 1;  // a new year begins in the old one
  const auto begun = [&] {
    const auto [start, end] = days_of(holiday, year);
    return over ? end <= today_ : start <= today_;
  };
  while (!begun()) --year;
  add_holiday(holiday, year, {});
}

void DateWindows::add_year(int year, Terms terms) {
  const int end = days(year + 1, 1);
  add({days(year, 1), end, 0, 0.0}, end, terms);
}

void DateWindows::add_today() { add({today_, today_ + 1, 0, 0.0}, today_ + 1, {}); }
// People also report it on the day after, but then more often that day.
void DateWindows::add_yesterday() { add({today_ - 1, today_, 1, 0.5}, today_, {}); }
void DateWindows::add_day_before_yesterday() { add({today_ - 2, today_ - 1, 0, 0.0}, today_ - 1, {}); }

void DateWindows::add_last_weekday(int weekday, int weeks_before) {
  const int back = (weekday_ - weekday + 7) % 7;
  add_day(today_ - (back != 0 ? back : 7) - 7 * weeks_before, {});
}

void DateWindows::add_calendar(DateUnit unit, int back) {
  if (unit == DateUnit::year) {
    add_months(12 * (year_ - back), 12, {});
  } else if (unit == DateUnit::month) {
    add_months(12 * year_ + month_ - 1 - back, 1, {});
  } else if (unit == DateUnit::quarter) {
    add_months(3 * (4 * year_ + (month_ - 1) / 3 - back), 3, {});
  } else {
    const int monday = today_ - weekday_ - 7 * back;
    add({monday + (unit == DateUnit::weekend ? 5 : 0), monday + 7, 3, 0.5}, monday + 7, {});
  }
}

void DateWindows::add_ago(DateUnit unit, int least, int most) {
  if (unit == DateUnit::fortnight) return add_ago(DateUnit::week, 2 * least, 2 * most);
  if (unit == DateUnit::quarter) {
    add_months(3 * (4 * year_ + (month_ - 1) / 3 - most), 3 * (most - least + 1), {});
  } else if (unit == DateUnit::day) {
    if (least == most) return add_day(today_ - most, {});
    add({today_ - most, today_ - least + 1, 0, 0.0}, today_ - least + 1, {});
  } else if (unit == DateUnit::week) {
    const int end = today_ - 7 * least + 4;
    add({today_ - 7 * most - 3, end, 3, 0.5}, end, {});
  } else if (unit == DateUnit::month) {
    add_months(12 * year_ + month_ - 1 - most, most - least + 1, {});
  } else {
    add_months(12 * (year_ - most), 12 * (most - least + 1), {});
  }
}

void DateWindows::add_last(DateUnit unit, int count) {
  const int n_days = unit == DateUnit::day         ? 1
                     : unit == DateUnit::week      ? 7
                     : unit == DateUnit::fortnight ? 14
                     : unit == DateUnit::month     ? 31
                     : unit == DateUnit::quarter   ? 92
                                                   : 366;
  const int start = std::max(today_ - n_days * count, days(kFirstYear, 1));
  add({start, today_ + 1, 0, 0.0}, today_ + 1, {});
}

void DateWindows::add_day(int day, Terms terms) { add({day, day + 2, 7, 0.7}, day + 1, terms); }

void DateWindows::add_months(int first, int n, Terms terms) {
  if (first < 12 * kFirstYear) return;
  const int last = first + n;
  const int end = days(last / 12, last % 12 + 1);
  add({days(first / 12, first % 12 + 1), end, 7, 0.5}, end, terms);
}

void DateWindows::add(const Span& span, int past, Terms terms) {
  const int first = days(kFirstYear, 1), always = days(kLastYear + 1, 1);
  DateWindow window;
  window.first_term = static_cast<uint32_t>(terms_.size());
  switch (relation_) {
    case DateRelation::none:
      return;
    case DateRelation::at:
      window.start = span.start;
      window.end = span.end;
      break;
    case DateRelation::before:
      window.start = first;
      // For a date before a day, the window ends at that day.
      window.end = span.end > past ? span.end : span.start;
      break;
    case DateRelation::after:
      window.start = past;
      window.end = always;
      break;
    case DateRelation::since:
      window.start = span.start;
      window.end = has_today_ ? today_ + 1 : always;
      break;
  }
  if (window.start >= window.end || window.start < days(kFirstYear - 1, 1)) return;
  window.later = window.end;
  if (relation_ == DateRelation::at || relation_ == DateRelation::before) {
    window.later += span.more;
    window.after = span.after;
  }
  if (relation_ == DateRelation::at) {
    window.is_period = true;
    window.n_terms = static_cast<uint32_t>(terms.size());
    terms_.insert(terms_.end(), terms.begin(), terms.end());
  }
  windows_.push_back(window);
}

}  // namespace scrubjay::text
