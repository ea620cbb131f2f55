// Numbers read and written by the C library agree with those of the standard library.
#include "base/decimal.hpp"

#include <bit>
#include <clocale>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"

using namespace scrubjay::base;

TEST(decimal_text_reads_back_as_the_same_number) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    const std::string text = real_text(number);
    double back = 0.0;
    const auto [end, error] = parse_real(text.data(), text.data() + text.size(), back);
    CHECK(error == std::errc() && end == text.data() + text.size());
    CHECK_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(number));
  }
}

#if !defined(_WIN32) && !SCRUBJAY_DECIMAL_BY_C_LIBRARY

TEST(decimal_by_the_c_library_agrees_with_the_standard_library) {
  std::vector<std::string> texts = {"",
                                    "-",
                                    "1",
                                    "-0.0",
                                    "+1",
                                    " 1",
                                    "1e",
                                    "1e+",
                                    "1e5x",
                                    "1.",
                                    ".5",
                                    "1e400",
                                    "-1e400",
                                    "1e-400",
                                    "4.9e-324",
                                    "0e99999",
                                    "1e-5",
                                    "1,5",
                                    "0x10",
                                    "inf",
                                    "nan",
                                    "1.5.5",
                                    "1e5e5",
                                    "--1",
                                    "1-1",
                                    "9007199254740993",
                                    "2.2250738585072011e-308",
                                    "0.1",
                                    "123456789012345678901234567890"};
  std::mt19937_64 random(11);
  for (int i = 0; i < 5'000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (std::isfinite(number)) texts.push_back(real_text(number));
    std::string noise;
    for (size_t n = random() % 8; n-- > 0;) noise += "0123456789.eE+-"[random() % 15];
    texts.push_back(noise);
  }
  for (const char* locale : {"C", "de_DE.UTF-8"}) {
    std::setlocale(LC_ALL, locale);  // if it exists
    for (const std::string& text : texts) {
      double expected = 42.0, got = 42.0;
      const auto [end, error] = parse_real(text.data(), text.data() + text.size(), expected);
      const auto [own_end, own_error] = parse_real_by_c_library(text.data(), text.data() + text.size(), got);
      if (text == "inf" || text == "nan") continue;  // which no caller requests
      CHECK(own_error == error);
      CHECK(error == std::errc() || expected == 42.0);  // left unchanged
      CHECK_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(expected));
      CHECK(error == std::errc::result_out_of_range || own_end == end);
      if (error == std::errc()) {
        const std::string written = real_text_by_c_library(expected);
        double back = 0.0;
        CHECK(std::from_chars(written.data(), written.data() + written.size(), back).ec == std::errc());
        CHECK_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(expected));
        CHECK(written.size() <= real_text(expected).size() + 4);  // "1e+05" for "1e5" or "100000"
      }
    }
  }
  std::setlocale(LC_ALL, "C");
}

#endif
