#include "engine/ranking.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "engine/created_at.hpp"
#include "engine/identifier_tier.hpp"

namespace scrubjay::engine {

using fusion::Candidate;

namespace {

constexpr size_t kMostNewHolders = 100;  // at most: 0.5% of a million would be 5,000

}  // namespace

void Ranker::run(bool fused, uint64_t n_docs, size_t k, size_t depth, SearchResult& result) {
  collect();
  if (fused) {
    if (options_.identifier_tier) add_holders(n_docs);
    if (fusion::wants_similarities(options_.fusion)) complete_similarities();
    result.lexical_share = fusion::fuse(options_.fusion, s_.extra_docs, terms_.size(), s_.candidates);
  } else {
    for (Candidate& candidate : s_.candidates.all())
      candidate.score = candidate.lexical_rank != 0 ? candidate.bm25 : candidate.similarity;
  }
  s_.ranked.clear();
  const std::span<const Candidate> all = s_.candidates.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].refused)
      s_.ranked.push_back({all[i].score, all[i].doc, static_cast<uint32_t>(i), all[i].identifier});
  }
  if (options_.weighs_coverage()) prepare_coverage(n_docs);
  if (options_.adjusts()) {
    select_best(depth);
    if (options_.weighs_coverage()) compute_coverages();
    if (options_.has_signals()) add_signals();
    refuse_by_thresholds();
  }
  const double bonus = any_identifier_ ? 1.0 + spread() : 0.0;
  keep_best(options_.diversifies() ? depth : k);
  if (options_.diversifies()) diversify(k);
  report(bonus, result);
}

void Ranker::collect() {
  s_.candidates.reset(s_.lexical_docs.size() + s_.vector_docs.size() + 16);
  for (uint32_t rank = 1; rank <= s_.lexical_docs.size(); ++rank)
    s_.candidates.add_lexical(s_.lexical_docs[rank - 1], lexical_.score_at(rank));
  for (uint32_t rank = 1; rank <= s_.vector_docs.size(); ++rank)
    s_.candidates.add_vector(s_.vector_docs[rank - 1], vector_.similarity_at(rank));
}

// Documents that hold an identifier are candidates even where a long query's other words crowd them out.
void Ranker::add_holders(uint64_t n_docs) {
  if (terms_.empty()) return;
  find_identifiers(s_.tokens, terms_, s_.dfs, s_.weighting, n_docs, s_.rare_terms, s_.identifiers);
  size_t n_new = 0;
  for (const uint32_t term : s_.identifiers) {
    lexical_.visit_holders(term, [&](uint32_t doc) {
      Candidate* candidate = s_.candidates.find(doc);
      if (!candidate) {
        if (n_new == kMostNewHolders) return;
        ++n_new;
        candidate = &s_.candidates.at(doc);
        candidate->bm25 = lexical_.score(doc >> 16, doc & 0xffffu);
      }
      candidate->identifier = true;
      any_identifier_ = true;
    });
  }
}

void Ranker::complete_similarities() {
  if (s_.vector_docs.empty()) return;
  for (Candidate& candidate : s_.candidates.all()) {
    if (candidate.vector_rank == 0)
      candidate.similarity = vector_.similarity(candidate.doc >> 16, candidate.doc & 0xffffu);
  }
}

void Ranker::prepare_coverage(uint64_t n_docs) {
  s_.term_idfs.clear();
  total_idf_ = 0.0;
  for (size_t t = 0; t < terms_.size(); ++t) {
    const double idf = terms_[t].counts ? lexical::idf(n_docs, s_.dfs[t]) : 0.0;
    s_.term_idfs.push_back(idf);
    total_idf_ += idf;
  }
}

// Of all that are ranked, term by term.
void Ranker::compute_coverages() {
  s_.ranked_docs.clear();
  for (const RankedCandidate& one : s_.ranked) s_.ranked_docs.push_back(one.doc);
  s_.coverages.assign(s_.ranked.size(), total_idf_ == 0.0 ? kUnknown : 0.0);
  if (total_idf_ == 0.0) return;
  for (uint32_t t = 0; t < terms_.size(); ++t) {
    if (s_.dfs[t] != 0 && terms_[t].counts)
      lexical_.add_where_held(t, s_.ranked_docs, s_.term_idfs[t], s_.coverages.data());
  }
  for (double& coverage : s_.coverages) coverage /= total_idf_;
}

// 1 for what was created now or later, halved with every half-life; 0 for what does not say when it was.
double Ranker::recency(uint32_t doc, int64_t now_us) const {
  const std::optional<std::string_view> payload = s_.chunks[doc >> 16].chunk->payload(doc & 0xffffu);
  const int64_t created = payload ? created_at_us(*payload) : kNoTime;
  if (created == kNoTime) return 0.0;
  const double age_us = static_cast<double>(std::max<int64_t>(now_us - created, 0));
  return std::pow(2.0, -(age_us / options_.half_life_us));
}

void Ranker::add_signals() {
  const double least = least_score(), width = spread();
  const int64_t now_us = options_.now_us != RankingOptions::kNow
                             ? options_.now_us
                             : std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count();
  for (size_t i = 0; i < s_.ranked.size(); ++i) {
    double score = width > 0.0 ? (s_.ranked[i].score - least) / width : 1.0;
    if (options_.coverage_weight != 0.0 && total_idf_ != 0.0)
      score += options_.coverage_weight * s_.coverages[i];
    if (options_.recency_weight != 0.0) score += options_.recency_weight * recency(s_.ranked[i].doc, now_us);
    s_.ranked[i].score = score;
  }
}

double Ranker::least_score() const {
  double least = std::numeric_limits<double>::infinity();
  for (const RankedCandidate& one : s_.ranked) least = std::min(least, one.score);
  return least;
}

// Between the least and the greatest score.
double Ranker::spread() const {
  double greatest = -std::numeric_limits<double>::infinity();
  for (const RankedCandidate& one : s_.ranked) greatest = std::max(greatest, one.score);
  return s_.ranked.empty() ? 0.0 : greatest - least_score();
}

Relevance Ranker::relevance(const RankedCandidate& one, double coverage) const {
  if (one.identifier) return Relevance::high;
  double similarity = s_.candidates.all()[one.candidate].similarity;
  if (std::isnan(similarity) && semantic_) similarity = vector_.similarity(one.doc >> 16, one.doc & 0xffffu);
  for (size_t tier = options_.relevance.size(); tier > 0; --tier) {
    const RelevanceBound& bound = options_.relevance[tier - 1];
    // Comparisons with NaN are false: what is not known is no evidence.
    if (similarity >= bound.similarity || coverage >= bound.coverage) return static_cast<Relevance>(tier);
  }
  return Relevance::none;
}

void Ranker::refuse_by_thresholds() {
  size_t n_kept = 0;
  for (size_t i = 0; i < s_.ranked.size(); ++i) {
    const RankedCandidate& one = s_.ranked[i];
    if (one.score < options_.min_score) continue;
    if (options_.least_relevance != Relevance::none &&
        relevance(one, s_.coverages[i]) < options_.least_relevance)
      continue;
    s_.ranked[n_kept++] = one;
  }
  s_.ranked.resize(n_kept);
}

namespace {

bool better(const RankedCandidate& a, const RankedCandidate& b) noexcept {
  if (a.identifier != b.identifier) return a.identifier;
  return a.score != b.score ? a.score > b.score : a.doc < b.doc;
}

}  // namespace

// Drops all but the best n, which stand in any order then.
void Ranker::select_best(size_t n) {
  if (n >= s_.ranked.size()) return;
  std::nth_element(s_.ranked.begin(), s_.ranked.begin() + static_cast<ptrdiff_t>(n), s_.ranked.end(), better);
  s_.ranked.resize(n);
}

// Sorts the best n and drops the others.
void Ranker::keep_best(size_t n) {
  n = std::min(n, s_.ranked.size());
  if (4 * n > s_.ranked.size()) {
    select_best(n);
    std::sort(s_.ranked.begin(), s_.ranked.end(), better);
    return;
  }
  std::partial_sort(s_.ranked.begin(), s_.ranked.begin() + static_cast<ptrdiff_t>(n), s_.ranked.end(),
                    better);
  s_.ranked.resize(n);
}

// Documents of the identifier tier are taken first, as they stand; the others must differ from them, too.
void Ranker::diversify(size_t k) {
  const double least = least_score(), width = spread();
  s_.relevances.clear();
  size_t n_identifiers = 0;
  for (const RankedCandidate& one : s_.ranked) {
    s_.relevances.push_back(width > 0.0 ? (one.score - least) / width : 1.0);
    n_identifiers += one.identifier ? 1 : 0;
  }
  vector_.forget_taken();
  const auto taken = s_.diversity.select(
      s_.relevances, options_.mmr_lambda, k, n_identifiers,
      [&](uint32_t i, uint32_t j) { return vector_.similarity_to_taken(s_.ranked[i].doc, j); },
      [&](uint32_t i) { vector_.take(s_.ranked[i].doc); });
  s_.ranked_before = s_.ranked;
  s_.ranked.clear();
  for (const uint32_t place : taken) s_.ranked.push_back(s_.ranked_before[place]);
}

void Ranker::report(double identifier_bonus, SearchResult& result) const {
  result.hits.reserve(s_.ranked.size());
  for (const RankedCandidate& one : s_.ranked) {
    const Candidate& candidate = s_.candidates.all()[one.candidate];
    Hit& hit = result.hits.emplace_back();
    hit.chunk = one.doc >> 16;
    hit.offset = one.doc & 0xffffu;
    hit.score = one.identifier ? one.score + identifier_bonus : one.score;
    hit.lexical_rank = candidate.lexical_rank;
    hit.vector_rank = candidate.vector_rank;
    if (candidate.lexical_rank != 0) hit.bm25 = candidate.bm25;
    if (candidate.vector_rank != 0) hit.similarity = candidate.similarity;
    hit.identifier = one.identifier;
  }
}

}  // namespace scrubjay::engine
