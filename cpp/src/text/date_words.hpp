// Date words: the words of a question as far as they may say when, for dates.hpp.
//
// A word is a run of ASCII letters and digits and of bytes beyond ASCII; capitals of ASCII are folded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

enum class DateWord : uint8_t {
  other,
  month,        // value: 1 to 12
  plain_month,  // the same; says when without a year or day, too, behind a word such as "in"
  short_month,  // the same of an English name that is cut short; says when with a day
  weekday,      // 0 to 6, from Monday
  weekdays,     // in the plural
  season,       // its first month; those of the north
  unit,         // of time, in the singular: DateUnit
  units,        // in the plural
  quarter,      // 1 to 4
  half,         // of a year: 1 and 2; 0: the word itself
  holiday,      // Holiday
  yesterday,
  before_yesterday,
  today,
  night,
  part_of_day,  // that says when behind "this"
  ago,
  newest,  // value 1: behind "most" only
};

enum class DateUnit : uint8_t { day, week, weekend, month, year, quarter, fortnight };

enum class Holiday : uint8_t { christmas, easter, pentecost, halloween, thanksgiving, new_year };

struct QuestionWord {
  std::string_view text;  // folded
  DateWord kind = DateWord::other;
  uint8_t value = 0;
  // Between the word before and this one: '-', '.', '/' alone; ' ' for blanks, commas and full stops; 'x' for
  // all else and before the first word.
  char gap = 'x';
};

// The words of one question after the other; reuse one per thread.
class QuestionWords {
 public:
  // False, and no words, if none of them can be part of a date: most questions, in a few instructions a byte.
  [[nodiscard]] bool read(std::string_view utf8);
  [[nodiscard]] const std::vector<QuestionWord>& words() const noexcept { return words_; }

 private:
  std::string folded_;
  std::vector<QuestionWord> words_;
};

}  // namespace scrubjay::text
