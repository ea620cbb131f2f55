#include "filter/iso_time.hpp"

namespace scrubjay::filter {
namespace {

// Reads fixed-width numbers and separators from the front of a text.
class Digits {
 public:
  explicit Digits(std::string_view text) noexcept : text_(text) {}

  [[nodiscard]] bool done() const noexcept { return text_.empty(); }
  [[nodiscard]] char next() const noexcept { return text_.empty() ? '\0' : text_.front(); }
  void skip() noexcept { text_.remove_prefix(1); }
  [[nodiscard]] bool take(char wanted) noexcept {
    if (next() != wanted) return false;
    skip();
    return true;
  }
  [[nodiscard]] bool number(unsigned n_digits, int& value) noexcept {
    if (text_.size() < n_digits) return false;
    value = 0;
    for (unsigned i = 0; i < n_digits; ++i, skip()) {
      if (next() < '0' || next() > '9') return false;
      value = 10 * value + (next() - '0');
    }
    return true;
  }

 private:
  std::string_view text_;
};

[[nodiscard]] int days_in(int year, int month) noexcept {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// Days from 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant's days_from_civil).
[[nodiscard]] int64_t days_since_1970(int year, int month, int day) noexcept {
  const int shifted = month <= 2 ? year - 1 : year;  // years begin in March
  const int era = shifted / 400, of_era = shifted % 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return int64_t{era} * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

}  // namespace

bool parse_iso_time(std::string_view text, int64_t& microseconds) noexcept {
  if (text.size() < 10 || text.size() > 32 || text[4] != '-') return false;
  Digits in(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, fraction = 0, offset = 0;
  if (!in.number(4, year) || !in.take('-') || !in.number(2, month) || !in.take('-') || !in.number(2, day))
    return false;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return false;
  if (!in.done()) {
    if (!in.take('T') && !in.take(' ')) return false;
    if (!in.number(2, hour) || !in.take(':') || !in.number(2, minute)) return false;
    if (in.take(':')) {
      if (!in.number(2, second)) return false;
      if (in.take('.')) {
        int n_digits = 0, digit = 0;
        for (; n_digits < 6 && in.number(1, digit); ++n_digits) fraction = 10 * fraction + digit;
        if (n_digits == 0) return false;
        for (; n_digits < 6; ++n_digits) fraction *= 10;
      }
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    if (in.next() == '+' || in.next() == '-') {
      const int sign = in.next() == '+' ? 1 : -1;
      int hours = 0, minutes = 0;
      in.skip();
      if (!in.number(2, hours) || !in.take(':') || !in.number(2, minutes)) return false;
      if (hours > 23 || minutes > 59) return false;
      offset = sign * (60 * hours + minutes);
    } else if (!in.done() && !in.take('Z')) {
      return false;
    }
    if (!in.done()) return false;
  }
  const int64_t minutes = days_since_1970(year, month, day) * 1440 + hour * 60 + minute - offset;
  microseconds = (minutes * 60 + second) * 1'000'000 + fraction;
  return true;
}

}  // namespace scrubjay::filter
