#include "engine/created_at.hpp"

#include <chrono>

namespace scrubjay::engine {
namespace {

// Takes `ending` off the end; false if it is not there.
bool take_end(std::string_view& text, std::string_view ending) noexcept {
  if (!text.ends_with(ending)) return false;
  text.remove_suffix(ending.size());
  return true;
}

// Takes a quoted text without quotes or backslashes inside off the end.
bool take_quoted(std::string_view& text, std::string_view& value) noexcept {
  if (!take_end(text, "\"")) return false;
  const size_t quote = text.rfind('"');
  if (quote == std::string_view::npos) return false;
  value = text.substr(quote + 1);
  text.remove_suffix(text.size() - quote);
  return true;
}

// Takes so many digits off the front; -1 if they are none.
int take_number(std::string_view& text, size_t n_digits) noexcept {
  if (text.size() < n_digits) return -1;
  int number = 0;
  for (size_t i = 0; i < n_digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = 10 * number + (text[i] - '0');
  }
  text.remove_prefix(n_digits);
  return number;
}

bool take(std::string_view& text, char expected) noexcept {
  if (text.empty() || text[0] != expected) return false;
  text.remove_prefix(1);
  return true;
}

int64_t parse_utc(std::string_view text) noexcept {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return kNoTime;
  const int month = take_number(text, 2);
  if (month < 0 || !take(text, '-')) return kNoTime;
  const int day = take_number(text, 2);
  if (day < 0 || !take(text, 'T')) return kNoTime;
  const int hour = take_number(text, 2);
  if (hour < 0 || !take(text, ':')) return kNoTime;
  const int minute = take_number(text, 2);
  if (minute < 0 || !take(text, ':')) return kNoTime;
  const int second = take_number(text, 2);
  int micros = 0;
  if (second < 0) return kNoTime;
  if (take(text, '.') && (micros = take_number(text, 6)) < 0) return kNoTime;
  if (text != "+00:00") return kNoTime;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return kNoTime;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000 + micros;
}

}  // namespace

int64_t created_at_us(std::string_view payload) noexcept {
  std::string_view value;
  if (!take_end(payload, "}") || !take_quoted(payload, value)) return kNoTime;
  if (take_end(payload, ",\"expires_at\":") && !take_quoted(payload, value)) return kNoTime;
  // The key is the object's own: a brace right behind the value would have ended an inner object.
  if (!take_end(payload, "\"created_at\":")) return kNoTime;
  return payload == "{" || payload.ends_with("},") ? parse_utc(value) : kNoTime;
}

}  // namespace scrubjay::engine
