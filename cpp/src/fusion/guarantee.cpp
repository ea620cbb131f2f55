#include "fusion/guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace scrubjay::fusion {
namespace {

// The order of hits outside the identifier tier.
bool precedes(const Candidate& a, const Candidate& b) noexcept {
  return a.score != b.score ? a.score > b.score : a.doc < b.doc;
}

}  // namespace

void Guarantee::find(const Candidates& candidates) noexcept {
  clear();
  const std::span<const Candidate> lexical = candidates.lexical(), all = candidates.all();
  if (!lexical.empty() && (lexical.size() == 1 || lexical[1].lexical_place != 1)) add(all, 0);
  n_by_words_ = n_found_;
  const std::span<const uint32_t> nearest = candidates.by_vector_rank();
  const uint32_t place_after = nearest.size() > kMostNear ? all[nearest[kMostNear]].vector_place : 0;
  for (const uint32_t i : nearest.first(std::min(kMostNear, nearest.size())))
    if (all[i].vector_place != place_after) add(all, i);
}

bool Guarantee::is_met(std::span<const Candidate> candidates) const noexcept {
  if (n_found_ == 0) return true;
  const Candidate* last = &candidates[found_[0]];
  for (const uint32_t i : found().subspan(1))
    if (precedes(*last, candidates[i])) last = &candidates[i];
  size_t n_before = 0, n_in_tier = 0;
  for (const Candidate& candidate : candidates) {
    const size_t in_tier = candidate.identifiers != 0 ? 1 : 0;
    n_in_tier += in_tier;
    n_before += !candidate.refused && (in_tier != 0 || precedes(candidate, *last)) ? 1 : 0;
  }
  return n_before < std::max(kPlaces, n_found_ + n_in_tier);
}

void Guarantee::raise(std::span<Candidate> candidates, std::vector<ScoreParts>* parts) {
  if (is_met(candidates)) return;
  others_.clear();
  size_t n_before = n_found_;  // found or in the tier
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].refused) continue;
    if (candidates[i].identifiers != 0) {
      ++n_before;
    } else if (!contains(i)) {
      others_.push_back(candidates[i].score);
    }
  }
  const auto best = others_.begin() + static_cast<ptrdiff_t>(n_before < kPlaces ? kPlaces - n_before : 0);
  std::nth_element(others_.begin(), best, others_.end(), std::greater<>());
  raise_above(*best, candidates, parts);
}

void Guarantee::raise_above(double score, std::span<Candidate> candidates,
                            std::vector<ScoreParts>* parts) noexcept {
  constexpr uint32_t kNowhere = ~uint32_t{0};
  std::array<double, 2 + kMostNear> levels{score};
  for (size_t n = 1; n < levels.size(); ++n)
    levels[n] = std::nextafter(levels[n - 1], std::numeric_limits<double>::infinity());
  std::array<uint32_t, 1 + kMostNear> raised{};  // the farthest first
  size_t n_raised = 0;
  for (const uint32_t i : found())
    if (candidates[i].refused || candidates[i].score <= levels.back()) raised[n_raised++] = i;
  const auto place_of = [&](uint32_t i) {
    return candidates[i].vector_place != 0 ? candidates[i].vector_place : kNowhere;
  };
  std::sort(raised.begin(), raised.begin() + static_cast<ptrdiff_t>(n_raised),
            [&](uint32_t a, uint32_t b) { return place_of(a) > place_of(b); });
  size_t level = 0;
  for (size_t n = 0; n < n_raised; ++n) {
    if (n == 0 || place_of(raised[n]) != place_of(raised[n - 1])) ++level;
    Candidate& candidate = candidates[raised[n]];
    if (parts) (*parts)[raised[n]].guarantee = levels[level] - candidate.score;
    candidate.score = levels[level];
    candidate.refused = false;
  }
}

}  // namespace scrubjay::fusion
