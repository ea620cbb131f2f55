// Dates of a question: the days that it names ("on 8 May 2023", "last March", "two weeks ago", "in the last 7
// days", "before 2025", "the week before last", "since Easter", "between March and May"), and whether it asks
// for the newest state ("the latest plan").
//
// Dates as content are ignored: a number is a year only after "in", "during", "throughout", "before",
// "after", "since" or a month; a month without a year or day is a date only after "in", "last" and the like.
// A day without a year ("2nd November") is the most recent one, except for deadlines ("by 8 May") and words
// that may mean something else ("may 2"). "On Monday" is the last Monday before today, unless the question is
// about the future. What follows "not" is excluded ("not in May but in March"). Ambiguous dates such as
// 5/8/2023 are ignored. Month names are recognised in English, German, French, Spanish, Italian, Portuguese
// and Dutch; other words are English only, except for "yesterday", the day before yesterday and holidays.
// Days are UTC days. Reference: tests/reference/dates.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/date_words.hpp"

namespace scrubjay::text {

inline constexpr int64_t kDayUs = 86'400'000'000;

// Days since 1970-01-01: [start, end) match fully; [end, later) match with `after`, since people
// often report afterwards.
struct DateWindow {
  int32_t start = 0, end = 0, later = 0;
  double after = 0.0;
  // The date as the question writes it, as the terms of a text that contains it: [first_term, first_term +
  // n_terms) of Dates::terms(). Empty if that would be the name of a month alone.
  uint32_t first_term = 0, n_terms = 0;
  bool is_period = false;  // the named days themselves, not the time before, after or since them

  [[nodiscard]] double match(int64_t day) const noexcept {
    if (day >= start && day < end) return 1.0;
    return day >= end && day < later ? after : 0.0;
  }
  // Whether times from `earliest` on tell anything about the period. If less than a tenth of it lies behind the
  // earliest, nearly all of it was over when the memories began: they can only tell of it later.
  [[nodiscard]] bool is_known(int64_t earliest) const noexcept {
    return !is_period || earliest >= end || 10 * (end - earliest) >= end - start;
  }
};

// Finds the dates of one question at a time; reuse one per thread.
class Dates {
 public:
  static constexpr size_t kLongest = 512;  // bytes; a longer text is not a question

  // Returns false for most questions, at a few instructions per byte: no word can be part of a date. If true,
  // resolve() computes what the question means.
  [[nodiscard]] bool read(std::string_view question) {
    windows_.clear();
    terms_.clear();
    latest_ = false;
    return question.size() <= kLongest && question_.read(question);
  }
  // Computes the meaning of the words of the last successful read() at a time, in microseconds since 1970.
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
