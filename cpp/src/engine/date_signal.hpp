// The date signal: candidates of the days that a question names count more.
//
//   score += weight * match * D        match: the greatest of the question's windows (text/dates.hpp), or 1 for a
//                                      document that holds the date as the question writes it
//   score += weight / 2 * newness * D  a question for the newest: 0 for the oldest of the lexical ranking's
//                                      documents that have 0.55 of its best score, 1 for the newest, by rank
//
// D is the standard deviation of the candidates' fused scores, 1 if they are equal. The time of a document is `valid_from` of its
// metadata (an integer, microseconds since 1970), else `created_at`. Where neither is known, nothing is added.
#pragma once

#include <span>
#include <vector>

#include "engine/lexical_arm.hpp"
#include "engine/ranking_options.hpp"
#include "engine/search_scratch.hpp"
#include "fusion/score_parts.hpp"

namespace scrubjay::engine {

class DateSignal {
 public:
  // `parts`: the score parts of each candidate, or null if they are not wanted.
  DateSignal(SearchScratch& scratch, const LexicalArm& lexical, std::span<const lexical::TermCount> terms,
             std::vector<fusion::ScoreParts>* parts) noexcept
      : s_(scratch), lexical_(lexical), terms_(terms), parts_(parts) {}

  // To the candidates' scores, by what scratch.dates says.
  void add(double weight);

 private:
  void read_times();
  void match_windows();
  void match_written(const text::DateWindow& window);
  void match_newest();

  SearchScratch& s_;
  const LexicalArm& lexical_;
  const std::span<const lexical::TermCount> terms_;
  std::vector<fusion::ScoreParts>* const parts_;
};

// What the question says of dates, into scratch.dates. False for most questions, at next to no cost.
[[nodiscard]] bool find_dates(std::string_view question, const RankingOptions& options,
                              SearchScratch& scratch);

// The time of a search that names none, in microseconds since 1970.
[[nodiscard]] int64_t clock_us() noexcept;

}  // namespace scrubjay::engine
