#include "engine/quantities.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace scrubjay::engine {
namespace {

constexpr std::string_view kUnits[] = {
    "st", "nd", "rd",   "th",  "k",  "m",  "b",   "x",   "d",   "h",    "hr",   "hrs", "min", "s",  "sec",
    "ms", "us", "μs",   "ns",  "w",  "wk", "wks", "mo",  "y",   "yr",   "yrs",  "am",  "pm",  "g",  "kg",
    "mg", "ug", "μg",   "ng",  "pg", "lb", "lbs", "oz",  "l",   "dl",   "ml",   "ul",  "μl",  "mm", "cm",
    "km", "um", "μm",   "nm",  "in", "ft", "mi",  "mph", "kmh", "hz",   "khz",  "mhz", "ghz", "v",  "mv",
    "kv", "kw", "mw",   "kb",  "mb", "gb", "tb",  "kib", "mib", "gib",  "tib",  "px",  "pt",  "em", "rem",
    "c",  "f",  "kcal", "cal", "kj", "j",  "pa",  "kpa", "mol", "mmol", "μmol", "usd", "eur"};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }

size_t n_digits_at(std::string_view term, size_t at) noexcept {
  size_t n = 0;
  while (at + n < term.size() && is_digit(term[at + n])) ++n;
  return n;
}
// Sizes in bytes and in characters.
struct Letters {
  size_t n_bytes = 0, n = 0;
};
Letters letters_at(std::string_view term, size_t at) noexcept {
  Letters letters;
  for (; at + letters.n_bytes < term.size() && is_letter(term[at + letters.n_bytes]); ++letters.n_bytes)
    letters.n += (static_cast<unsigned char>(term[at + letters.n_bytes]) & 0xc0u) != 0x80 ? 1 : 0;
  return letters;
}

bool is_year(std::string_view number) noexcept {
  return number.size() == 4 && (number.starts_with("19") || number.starts_with("20"));
}

bool is_measure(std::string_view term, size_t at) noexcept {
  while (at < term.size() && (term[at] == '.' || term[at] == ',')) {
    const size_t n = n_digits_at(term, at + 1);
    if (n == 0) return false;
    at += 1 + n;
  }
  if (at < term.size() && term[at] == '-') ++at;
  return std::find(std::begin(kUnits), std::end(kUnits), term.substr(at)) != std::end(kUnits);
}

bool is_range(std::string_view term, size_t at) noexcept {
  if (term[at] != '-' && term[at] != '/') return false;
  const size_t n = n_digits_at(term, at + 1);
  if (n == 0 || at + 1 + n != term.size()) return false;
  return (at <= 3 && n <= 3) || (is_year(term.substr(0, at)) && is_year(term.substr(at + 1)));
}

bool is_numbered_word(std::string_view term) noexcept {
  const Letters letters = letters_at(term, 0);
  size_t at = letters.n_bytes;
  if (letters.n < 5) return false;
  if (at < term.size() && term[at] == '-') ++at;
  const size_t n = n_digits_at(term, at);
  return at + n == term.size() && (n == 1 || (n == 2 && term[at] != '0'));
}

}  // namespace

bool is_quantity(std::string_view term) noexcept {
  const size_t n = n_digits_at(term, 0);
  if (n == 0) return is_numbered_word(term);
  if (n == term.size()) return n <= 2 || is_year(term);
  if (is_measure(term, n) || is_range(term, n)) return true;
  const size_t word = n + (term[n] == '-' ? 1 : 0);
  const Letters letters = letters_at(term, word);
  return n <= 3 && letters.n >= 3 && word + letters.n_bytes == term.size();
}

}  // namespace scrubjay::engine
