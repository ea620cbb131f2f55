#include "base/decimal.hpp"

#if !defined(_WIN32)
#include <cmath>
#include <cstdio>
#include <cstdlib>
#if defined(__APPLE__)
#include <xlocale.h>
#else
#include <locale.h>
#endif

namespace scrubjay::base {

namespace {

// The "C" locale, whatever the program sets: decimal point and ASCII digits.
locale_t plain_locale() {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

double read(const std::string& text, size_t& n_read) {
  char* stop = nullptr;
  const locale_t plain = plain_locale();
  const double number = plain ? strtod_l(text.c_str(), &stop, plain) : std::strtod(text.c_str(), &stop);
  n_read = static_cast<size_t>(stop - text.c_str());
  return number;
}

}  // namespace

std::from_chars_result parse_real_by_c_library(const char* begin, const char* end, double& out) {
  const char* stop = begin;
  bool is_zero = true;
  // strtod() accepts more: blanks, a plus sign, hexadecimal digits, names.
  for (bool in_exponent = false; stop != end; ++stop) {
    const char c = *stop;
    const bool digit = c >= '0' && c <= '9';
    const bool sign =
        (c == '-' && stop == begin) || ((c == '-' || c == '+') && stop != begin && (stop[-1] | 32) == 'e');
    if (!digit && !sign && c != '.' && (c | 32) != 'e') break;
    in_exponent = in_exponent || (c | 32) == 'e';
    is_zero = is_zero && (in_exponent || !digit || c == '0');
  }
  size_t n_read = 0;
  const double number = read(std::string(begin, stop), n_read);
  if (n_read == 0) return {begin, std::errc::invalid_argument};
  if (std::isinf(number) || (number == 0.0 && !is_zero))
    return {begin + n_read, std::errc::result_out_of_range};
  out = number;
  return {begin + n_read, std::errc()};
}

std::string real_text_by_c_library(double number) {
  char digits[40];
  for (int n_digits = 1; n_digits <= 17; ++n_digits) {
    std::snprintf(digits, sizeof digits, "%.*g", n_digits, number);
    for (char& c : digits) {
      if (c == ',') c = '.';  // decimal comma of the program's locale
      if (c == '\0') break;
    }
    size_t n_read = 0;
    if (read(digits, n_read) == number) break;
  }
  return digits;
}

}  // namespace scrubjay::base
#endif
