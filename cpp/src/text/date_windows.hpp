// Date windows: the days that the expressions of a question mean at a given time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/date_words.hpp"
#include "text/dates.hpp"

namespace scrubjay::text {

// Relation of an expression to the days that it names: these days, all before, all after, all since, or not
// these days (not in May).
enum class DateRelation : uint8_t { at, before, after, since, none };

// Appends to the windows and terms of one question. Functions that count back from today require has_today().
class DateWindows {
 public:
  using Terms = std::initializer_list<std::string_view>;

  DateWindows(std::vector<DateWindow>& windows, std::vector<std::string>& terms, int64_t now_us);

  // False if the year of `now_us` is outside the years that questions name.
  [[nodiscard]] bool has_today() const noexcept { return has_today_; }
  [[nodiscard]] int year() const noexcept { return year_; }
  // Of the last month of this number that has begun.
  [[nodiscard]] int recent_year_of(int month) const noexcept { return month > month_ ? year_ - 1 : year_; }

  // Sets the relation of all windows added from now on.
  void relate(DateRelation relation) noexcept { relation_ = relation; }

  // Returns false and adds nothing if there is no such day.
  bool try_day(int year, int month, int day, Terms terms);
  // Adds the most recent such day up to now; returns false if there is none.
  bool try_recent_day(int month, int day, Terms terms);
  void add_month(int year, int month, Terms terms);
  // Adds the most recent day of the month with this number; returns false if it is in no year that questions name.
  bool try_recent_number(int day);
  // Adds the day with this number of the month `back` months ago; returns false if that month has no such day.
  bool try_number(int day, int back);
  // Adds the months from one to another, both included; without a year (0) the last month is the most recent one of its
  // name. Returns false if they are in another order or far apart.
  bool try_months(int year, int month, int last_year, int last_month);
  bool try_years(int year, int last_year);
  // Adds the most recent one that has begun, or with `over` that has ended.
  void add_recent_month(int month, bool over);
  void add_recent_season(int first_month, bool over);
  void add_recent_quarter(int quarter, bool over);
  void add_season(int year, int first_month);
  void add_quarter(int year, int quarter, Terms terms);
  void add_half(int year, int half);
  // The weeks of a month are its days 1 to 7 and so on, its weekends begin on its Saturdays; kLast: the last of them.
  static constexpr int kLast = 5;
  void add_week_of_month(int year, int month, DateUnit unit, int n);
  void add_year(int year, Terms terms);
  // 0 to 2: its first, its middle and its last four months.
  void add_third(int year, int third);
  void add_holiday(Holiday holiday, int year, Terms terms);
  // The last one that has begun, or that is over.
  void add_recent_holiday(Holiday holiday, bool over);

  void add_today();
  void add_yesterday();
  void add_day_before_yesterday();
  // Adds the last one before today, or one the given number of weeks earlier.
  void add_last_weekday(int weekday, int weeks_before = 0);
  // Adds the week, weekend, month, quarter or year that is `back` units before the current one.
  void add_calendar(DateUnit unit, int back);
  // Adds a time between `least` and `most` units ago.
  void add_ago(DateUnit unit, int least, int most);
  // Adds the last `count` units up to now.
  void add_last(DateUnit unit, int count);

 private:
  struct Span {
    int start, end, more;
    double after;
  };
  void add_day(int day, Terms terms);
  void add_months(int first, int n, Terms terms);  // first: months since year 0
  // `past`: the first day after the span, usually its end.
  void add(const Span& span, int past, Terms terms);

  std::vector<DateWindow>& windows_;
  std::vector<std::string>& terms_;
  DateRelation relation_ = DateRelation::at;
  bool has_today_ = false;
  int today_ = 0, year_ = 0, month_ = 0, weekday_ = 0;  // of now
};

}  // namespace scrubjay::text
