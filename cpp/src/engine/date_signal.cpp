#include "engine/date_signal.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "base/seeded_hash.hpp"
#include "text/porter2.hpp"
#include "text/term_key.hpp"

namespace scrubjay::engine {
namespace {

using fusion::Candidate;
using IntegerTrack = filter::Track<int64_t>;

constexpr double kShareOfBest = 0.55;

// Standard deviation of the scores that are not rejected; 1 if they are equal, not finite if they are huge.
double deviation(std::span<const Candidate> candidates) noexcept {
  double n = 0.0, sum = 0.0, squares = 0.0;
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const Candidate& candidate : candidates) {
    if (candidate.refused) continue;
    sum += candidate.score;
    n += 1.0;
    least = std::min(least, candidate.score);
    greatest = std::max(greatest, candidate.score);
  }
  if (n == 0.0) return 0.0;
  if (least == greatest) return 1.0;
  const double mean = sum / n;
  for (const Candidate& candidate : candidates)
    if (!candidate.refused) squares += (candidate.score - mean) * (candidate.score - mean);
  return std::sqrt(squares / n);
}

bool is_ascii_word(std::string_view word) noexcept {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

int64_t day_of(int64_t time_us) noexcept {
  return time_us / text::kDayUs - (time_us % text::kDayUs < 0 ? 1 : 0);
}

}  // namespace

int64_t clock_us() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

bool find_dates(std::string_view question, const RankingOptions& options, SearchScratch& scratch) {
  if (!scratch.dates.read(question)) return false;
  scratch.dates.resolve(options.dates_now_us != RankingOptions::kNow ? options.dates_now_us : clock_us());
  return scratch.dates.any();
}

void DateSignal::add(double weight) {
  const std::span<Candidate> all = s_.candidates.all();
  const double unit = weight * deviation(all);
  if (!std::isfinite(unit) || unit == 0.0) return;
  read_times();
  s_.boosts.assign(all.size(), 0.0);
  match_windows();
  if (s_.dates.latest()) match_newest();
  for (size_t i = 0; i < all.size(); ++i) {
    const double gain = unit * s_.boosts[i];
    all[i].score += gain;
    if (parts_) (*parts_)[i].dates += gain;
  }
}

// Reads the time of each candidate.
void DateSignal::read_times() {
  const std::span<const Candidate> all = s_.candidates.all();
  s_.times.assign(all.size(), IntegerTrack::kAbsent);
  const auto read = [&](std::string_view field, auto track) {
    const uint64_t hash = base::seeded_hash64(field);
    s_.columns.clear();
    for (const ChunkSnapshot& chunk : s_.chunks) {
      const filter::Columns* columns = chunk.chunk->columns();
      s_.columns.push_back(columns ? columns->find(field, hash) : nullptr);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const uint32_t chunk = all[i].doc >> 16;
      const filter::Column* column = s_.columns[chunk];
      if (!column || s_.times[i] != IntegerTrack::kAbsent) continue;
      s_.times[i] = (column->*track).view(s_.chunks[chunk].n_docs).at(all[i].doc & 0xffffu);
    }
  };
  read("valid_from", &filter::Column::integers);
  read("valid_from", &filter::Column::times);
  read("created_at", &filter::Column::times);
}

void DateSignal::match_windows() {
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const int64_t time : s_.times)
    if (time != IntegerTrack::kAbsent) earliest = std::min(earliest, day_of(time));
  for (const text::DateWindow& window : s_.dates.windows()) {
    const bool known = window.is_known(earliest);
    for (size_t i = 0; i < s_.times.size(); ++i) {
      if (known && s_.times[i] != IntegerTrack::kAbsent)
        s_.boosts[i] = std::max(s_.boosts[i], window.match(day_of(s_.times[i])));
    }
    if (window.n_terms != 0 && !terms_.empty()) match_written(window);
  }
}

// A deadline or a version is found by its words: a document that contains them must not fall behind others of
// that day.
void DateSignal::match_written(const text::DateWindow& window) {
  s_.places.clear();  // of the query's terms
  for (const std::string& word : s_.dates.terms().subspan(window.first_term, window.n_terms)) {
    const uint64_t key = text::term_key(word),
                   stem = text::term_key(is_ascii_word(word) ? text::porter2(word) : word);
    const auto position = std::find_if(terms_.begin(), terms_.end(), [&](const lexical::TermCount& term) {
      return term.key == key || term.key == stem;
    });
    if (position == terms_.end()) return;
    s_.places.push_back(static_cast<uint32_t>(position - terms_.begin()));
  }
  const std::span<const Candidate> all = s_.candidates.all();
  for (size_t i = 0; i < all.size(); ++i) {
    const uint32_t chunk = all[i].doc >> 16, offset = all[i].doc & 0xffffu;
    if (std::all_of(s_.places.begin(), s_.places.end(),
                    [&](uint32_t term) { return lexical_.holds(chunk, offset, term); }))
      s_.boosts[i] = 1.0;
  }
}

// Ranks by time the documents whose lexical scores are near the best one: the states of one thing.
void DateSignal::match_newest() {
  const std::span<const Candidate> lexical = s_.candidates.lexical();
  if (lexical.empty()) return;
  const double least = kShareOfBest * lexical.front().bm25;
  s_.places.clear();
  for (uint32_t i = 0; i < lexical.size(); ++i)
    if (s_.times[i] != IntegerTrack::kAbsent && lexical[i].bm25 >= least) s_.places.push_back(i);
  if (s_.places.size() < 2) return;
  const double others = static_cast<double>(s_.places.size() - 1);
  for (const uint32_t i : s_.places) {
    const auto n_older = std::count_if(s_.places.begin(), s_.places.end(),
                                       [&](uint32_t other) { return s_.times[other] < s_.times[i]; });
    s_.boosts[i] = std::max(s_.boosts[i], 0.5 * (static_cast<double>(n_older) / others));
  }
}

}  // namespace scrubjay::engine
