// Date words: the words of a question that may express a date, for dates.hpp.
//
// A word is a run of ASCII letters, ASCII digits and non-ASCII bytes; ASCII capitals are folded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

enum class DateWord : uint8_t {
  other,
  month,        // value: 1 to 12
  plain_month,  // same; expresses a date also without a year or day, after a word such as "in"
  short_month,  // same, an abbreviated English name; expresses a date only with a day
  weekday,      // 0 to 6, from Monday
  weekdays,     // plural
  season,       // value: its first month, in the northern hemisphere
  unit,         // singular unit of time: DateUnit
  units,        // plural
  quarter,      // 1 to 4
  half,         // of a year: 1 and 2; 0: the word itself
  holiday,      // Holiday
  yesterday,
  before_yesterday,
  today,
  night,
  part_of_day,  // that says when behind "this"
  ago,
  newest,  // value 1: only after "most"
};

enum class DateUnit : uint8_t { day, week, weekend, month, year, quarter, fortnight };

enum class Holiday : uint8_t { christmas, easter, pentecost, halloween, thanksgiving, new_year };

struct QuestionWord {
  std::string_view text;  // folded
  DateWord kind = DateWord::other;
  uint8_t value = 0;
  // Separator before this word: '-', '.' or '/' alone; ' ' for blanks, commas and full stops; 'x' for
  // anything else and before the first word.
  char gap = 'x';
};

// Reads the words of one question at a time; reuse one per thread.
class QuestionWords {
 public:
  // Returns false, with no words, if none of them can be part of a date: most questions, at a few
  // instructions per byte.
  [[nodiscard]] bool read(std::string_view utf8);
  [[nodiscard]] const std::vector<QuestionWord>& words() const noexcept { return words_; }

 private:
  std::string folded_;
  std::vector<QuestionWord> words_;
};

}  // namespace scrubjay::text
