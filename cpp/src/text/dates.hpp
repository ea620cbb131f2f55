// Dates of a question: the days that it names ("on 8 May 2023", "last March", "two weeks ago", "in the last 7 days",
// "before 2025", "the week before last", "since Easter", "between March and May"), and whether it asks for the newest
// state of things ("the latest plan").
//
// Dates as content are left alone: a number is a year only behind "in", "during", "throughout", "before", "after",
// "since" or a month, a month without a year or day only behind "in", "last" and the like. A day without a year ("2nd
// November") is the last one until now, but for deadlines ("by 8 May") and what may be other words ("may 2"). "On
// Monday" is the last one before today, unless the question speaks of what will be. What follows "not" ("not in May but
// in March") is not meant. What day 5/8/2023 is nobody knows. Months have their names in English, German, French,
// Spanish, Italian, Portuguese and Dutch; the other words are English, "yesterday", the day before it and holidays
// aside. Days are those of UTC.
// tests/reference/dates.py is the twin.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/date_words.hpp"

namespace scrubjay::text {

inline constexpr int64_t kDayUs = 86'400'000'000;

// Days since 1970-01-01: [start, end) are meant; [end, later) count `after`, as people tell afterwards.
struct DateWindow {
  int32_t start = 0, end = 0, later = 0;
  double after = 0.0;
  // The date as the question writes it, as terms of a text that holds it: [first_term, first_term + n_terms) of
  // Dates::terms(). None where that would be the name of a month alone.
  uint32_t first_term = 0, n_terms = 0;

  [[nodiscard]] double match(int64_t day) const noexcept {
    if (day >= start && day < end) return 1.0;
    return day >= end && day < later ? after : 0.0;
  }
};

// Those of one question after the other; reuse one per thread.
class Dates {
 public:
  static constexpr size_t kLongest = 512;  // bytes: what is longer is no question

  // False for most questions, in a few instructions a byte: no word can be part of a date. What a question
  // says is asked of resolve() then.
  [[nodiscard]] bool read(std::string_view question) {
    windows_.clear();
    terms_.clear();
    latest_ = false;
    return question.size() <= kLongest && question_.read(question);
  }
  // What the words of the last read() that was true mean at a time, in microseconds since 1970.
  void resolve(int64_t now_us);

  [[nodiscard]] bool any() const noexcept { return latest_ || !windows_.empty(); }
  [[nodiscard]] std::span<const DateWindow> windows() const noexcept { return windows_; }
  [[nodiscard]] std::span<const std::string> terms() const noexcept { return terms_; }
  [[nodiscard]] bool latest() const noexcept { return latest_; }

 private:
  friend class DateFinder;
  QuestionWords question_;
  std::vector<DateWindow> windows_;
  std::vector<std::string> terms_;
  bool latest_ = false;
};

}  // namespace scrubjay::text
