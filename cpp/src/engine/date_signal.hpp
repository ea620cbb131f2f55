// Date signal: a bonus for candidates whose dates match the days that the question names.
//
//   score += weight * match * D        match: best match with the question's windows (text/dates.hpp), or 1
//                                      for a document that contains the date as the question writes it;
//                                      windows that began long before the candidates do not count
//   score += weight / 2 * newness * D  if the question asks for the newest: by rank of time, from 0 for the
//                                      oldest to 1 for the newest of the lexical ranking's documents with at
//                                      least 0.55 of its best score
//
// D is the standard deviation of the candidates' fused scores, or 1 if they are equal. The time of a document
// is `valid_from` of its metadata (a time, or an integer: microseconds since 1970), otherwise `created_at`. A
// document with neither gets no bonus.
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
  // `parts`: the score parts of each candidate, or null if they are not requested.
  DateSignal(SearchScratch& scratch, const LexicalArm& lexical, std::span<const lexical::TermCount> terms,
             std::vector<fusion::ScoreParts>* parts) noexcept
      : s_(scratch), lexical_(lexical), terms_(terms), parts_(parts) {}

  // Adds the bonus to the candidates' scores, according to scratch.dates.
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

// Stores the dates that the question names in scratch.dates. Returns false for most questions, at
// almost no cost.
[[nodiscard]] bool find_dates(std::string_view question, const RankingOptions& options,
                              SearchScratch& scratch);

// The reference time of a search that does not give one, in microseconds since 1970.
[[nodiscard]] int64_t clock_us() noexcept;

}  // namespace scrubjay::engine
