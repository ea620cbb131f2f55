// Checks that parse_iso_time accepts exactly what its comment says, and gives the instant of
// a plain calculation.
//
// Days since 1970, by counting them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <regex>
#include <string>
#include <string_view>

#include "filter/iso_time.hpp"

namespace {

// Days since 1970 by counting them.
int64_t days_of(int year, int month, int day) {
  const auto leap = [](int y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); };
  constexpr int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t days = 0;
  for (int y = 1; y < year; ++y) days += leap(y) ? 366 : 365;
  for (int m = 1; m < month; ++m) days += lengths[m - 1] + (m == 2 && leap(year));
  return days + day - 1 - 719162;
}

// The expected result if the text is well-formed and within the calendar.
bool plainly(const std::string& text, int64_t& microseconds) {
  static const std::regex form(
      "([0-9]{4})-([0-9]{2})-([0-9]{2})"
      "(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]{1,6}))?)?(Z|([+-])([0-9]{2}):([0-9]{2}))?)?");
  std::smatch found;
  if (!std::regex_match(text, found, form)) return false;
  const auto number = [&](size_t group) { return found[group].matched ? std::stoi(found[group]) : 0; };
  const int year = number(1), month = number(2), day = number(3);
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  if (month == 12 ? day > 31 : days_of(year, month, day) >= days_of(year, month + 1, 1)) return false;
  if (number(4) > 23 || number(5) > 59 || number(6) > 59 || number(10) > 23 || number(11) > 59) return false;
  std::string fraction = found[7];
  fraction.resize(6, '0');
  const int64_t offset = (number(10) * 60 + number(11)) * (found[9] == "-" ? -1 : 1);
  const int64_t seconds =
      days_of(year, month, day) * 86400 + (number(4) * 60 + number(5) - offset) * 60 + number(6);
  microseconds = seconds * 1'000'000 + std::stoi(fraction);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size < 48 ? size : 48);
  int64_t found = -1, expected = -1;
  const bool is_time = scrubjay::filter::parse_iso_time(text, found);
  if (is_time != plainly(text, expected)) std::abort();
  if (is_time && found != expected) std::abort();
  return 0;
}
