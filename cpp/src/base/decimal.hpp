// Decimal text of a double, read and written the same in every locale, with correct rounding.
//
// Uses std::from_chars and std::to_chars where the standard library has them for double. Apple's library has
// from_chars for double only from macOS 26 on, and to_chars from macOS 13.3 on, but wheels run on older
// systems; there the C library is used, in the "C" locale.
#pragma once

#include <charconv>
#include <string>
#include <system_error>

#if defined(__APPLE__) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000)
#define SCRUBJAY_DECIMAL_BY_C_LIBRARY 1
#else
#define SCRUBJAY_DECIMAL_BY_C_LIBRARY 0
#endif

namespace scrubjay::base {

#if !defined(_WIN32)
// Same as std::from_chars and std::to_chars, implemented with the C library. For the platforms above and for
// comparison in tests.
[[nodiscard]] std::from_chars_result parse_real_by_c_library(const char* begin, const char* end, double& out);
[[nodiscard]] std::string real_text_by_c_library(double number);
#endif

// Reads the longest number at `begin`. Like std::from_chars, it accepts no leading blanks and no plus sign,
// and leaves `out` unchanged if there is no number (invalid_argument) or it is not representable
// (result_out_of_range).
[[nodiscard]] inline std::from_chars_result parse_real(const char* begin, const char* end, double& out) {
#if SCRUBJAY_DECIMAL_BY_C_LIBRARY
  return parse_real_by_c_library(begin, end, out);
#else
  double number = 0.0;  // libc++ stores infinity or zero if the number is not representable
  const std::from_chars_result read = std::from_chars(begin, end, number);
  if (read.ec == std::errc()) out = number;
  return read;
#endif
}

// The shortest text that reads back as the same number.
[[nodiscard]] inline std::string real_text(double number) {
#if SCRUBJAY_DECIMAL_BY_C_LIBRARY
  return real_text_by_c_library(number);
#else
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
#endif
}

}  // namespace scrubjay::base
