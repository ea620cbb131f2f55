// Reads dates from any bytes at any time, and checks that the windows are valid and near the years that are
// read, that the terms are parts of the question, and that a repeated call gives the same result.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hostile_text.hpp"
#include "text/dates.hpp"

namespace {

using namespace scrubjay::text;

// Days of the years 1899 to 2102, which windows can reach.
constexpr int32_t kFirstDay = -25'933, kLastDay = 48'578;

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(const DateWindow& a, const DateWindow& b) {
  return a.start == b.start && a.end == b.end && a.later == b.later && a.after == b.after &&
         a.first_term == b.first_term && a.n_terms == b.n_terms;
}

void check(const Dates& dates, size_t question_bytes) {
  require(dates.any() == (dates.latest() || !dates.windows().empty()));
  for (const DateWindow& window : dates.windows()) {
    require(window.start < window.end && window.start >= kFirstDay && window.end <= kLastDay);
    require(window.later >= window.end);
    require(window.after >= 0.0 && window.after <= 1.0);
    require(size_t{window.first_term} + window.n_terms <= dates.terms().size());
    require(window.match(window.start) == 1.0 && window.match(window.end - 1) == 1.0);
    require(window.match(window.start - 1) == 0.0 && window.match(window.end) <= 1.0);
  }
  for (const std::string& term : dates.terms()) require(!term.empty() && term.size() <= question_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Dates reused;
  // The first eight bytes are the time: any time, or near the present, where "last March" is meaningful.
  int64_t now = 0;
  std::memcpy(&now, data, std::min(size, sizeof now));
  const size_t head = std::min(size, sizeof now);
  const std::string_view question(reinterpret_cast<const char*>(data) + head, size - head);
  const int64_t near = 1'700'000'000'000'000 + now % (200 * 365 * kDayUs);
  for (const int64_t time : {now, near, std::numeric_limits<int64_t>::min()}) {
    const bool may_name = reused.read(question);
    require(!may_name || question.size() <= Dates::kLongest);
    if (may_name) reused.resolve(time);
    check(reused, question.size());
    Dates fresh;
    require(fresh.read(question) == may_name);
    if (may_name) fresh.resolve(time);
    require(fresh.latest() == reused.latest() && fresh.terms().size() == reused.terms().size());
    require(std::equal(fresh.terms().begin(), fresh.terms().end(), reused.terms().begin()));
    require(std::equal(fresh.windows().begin(), fresh.windows().end(), reused.windows().begin(),
                       reused.windows().end(), same));
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return hostile::mutate(data, size, max_size, seed);
}
