// Date numbers: the meaning of numbers and number words in a date, and calendar days.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace scrubjay::text::date_numbers {

inline constexpr int kFirstYear = 1900, kLastYear = 2100;

inline bool is_among(std::string_view word, std::initializer_list<std::string_view> words) noexcept {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Value of one to `most_digits` digits; -1 for anything else.
inline int number(std::string_view word, size_t most_digits) noexcept {
  if (word.empty() || word.size() > most_digits) return -1;
  int value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}
// 0 if it is not a number.
inline int small_number(std::string_view word) noexcept { return std::max(number(word, 2), 0); }
inline int year_of(std::string_view word) noexcept {
  const int value = word.size() == 4 ? number(word, 4) : -1;
  return value >= kFirstYear && value <= kLastYear ? value : 0;
}
inline bool is_ordinal(std::string_view word) noexcept {
  return word.size() > 2 && is_among(word.substr(word.size() - 2), {"st", "nd", "rd", "th"});
}
inline int day_of(std::string_view word) noexcept {
  if (is_ordinal(word)) word.remove_suffix(2);
  const int value = small_number(word);
  return value <= 31 ? value : 0;
}
// "one" to "twelve", "a", "an", or digits; 0 for anything else.
inline int count_of(std::string_view word) noexcept {
  constexpr std::string_view kNumbers[] = {"one",   "two",   "three", "four", "five",   "six",
                                           "seven", "eight", "nine",  "ten",  "eleven", "twelve"};
  if (word == "a" || word == "an") return 1;
  const auto* const at = std::find(std::begin(kNumbers), std::end(kNumbers), word);
  if (at != std::end(kNumbers)) return static_cast<int>(at - std::begin(kNumbers)) + 1;
  return std::max(number(word, 3), 0);
}

inline std::chrono::year_month_day date(int year, int month, int day) noexcept {
  return {std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
          std::chrono::day(static_cast<unsigned>(day))};
}
// Days since 1970-01-01.
inline int days(int year, int month, int day = 1) noexcept {
  return static_cast<int>(std::chrono::sys_days(date(year, month, day)).time_since_epoch().count());
}
inline bool day_exists(int year, int month, int day) noexcept {
  return year >= kFirstYear && year <= kLastYear && date(year, month, day).ok();
}

}  // namespace scrubjay::text::date_numbers
