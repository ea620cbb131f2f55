#include "engine/ranking.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/seeded_hash.hpp"
#include "engine/date_signal.hpp"
#include "engine/fusion_scale.hpp"
#include "engine/identifier_tier.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::engine {

using fusion::Candidate;

namespace {

constexpr double kMostPrior = 1e100;
constexpr size_t kMostNewHolders = 100;  // cap: 0.5% of a million would be 5,000
constexpr uint64_t kMostVisitedHolders = 1000;

// The high bits of a score, in its order and below 2^31.
uint32_t coarse_score(double score) noexcept { return base::sortable_float(static_cast<float>(score)) >> 1; }

// The bonus for each identifier that a document of the identifier tier contains: one more than the distance from the
// tier's least score to the greatest of all, so that documents with fewer identifiers come after it.
class IdentifierBonus {
 public:
  void add(double score, uint32_t identifiers) noexcept {
    greatest_ = std::max(greatest_, score);
    if (identifiers != 0) least_in_tier_ = std::min(least_in_tier_, score);
  }
  [[nodiscard]] double of_each() const noexcept {
    return least_in_tier_ <= greatest_ ? 1.0 + (greatest_ - least_in_tier_) : 0.0;
  }

 private:
  double greatest_ = -std::numeric_limits<double>::infinity();
  double least_in_tier_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void Ranker::run(bool fused, uint64_t n_docs, size_t k, const Asked& requested, SearchResult& result) {
  collect();
  s_.guarantee.clear();
  if (fused) {
    if (options_.identifier_tier) add_holders(n_docs);
    if (fusion::wants_similarities(options_.fusion)) complete_similarities();
    if (options_.fusion.method == fusion::Method::automatic) {
      result.lexical_share = fuse_automatically(n_docs, k, requested);
    } else {
      fusion::fuse(options_.fusion, s_.extra_docs, terms_.size(), {}, s_.candidates, parts_);
    }
  } else {
    for (Candidate& candidate : s_.candidates.all())
      candidate.score = candidate.lexical_rank != 0 ? candidate.bm25 : candidate.similarity;
    if (parts_) {
      parts_->clear();
      for (const Candidate& candidate : s_.candidates.all())
        parts_->push_back(part_of_one_arm(candidate.lexical_rank != 0, candidate.score));
    }
  }
  if (dated_) DateSignal(s_, lexical_, terms_, parts_).add(options_.dates_weight);
  if (only_fused_scores()) {
    IdentifierBonus bonus;
    if (any_identifier_) {
      for (const Candidate& candidate : s_.candidates.all())
        if (!candidate.refused) bonus.add(candidate.score, candidate.identifiers);
    }
    take_best_guaranteed(k);
    return report(bonus.of_each(), result);
  }
  s_.ranked.clear();
  const std::span<const Candidate> all = s_.candidates.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].refused)
      s_.ranked.push_back({all[i].score, all[i].doc, static_cast<uint32_t>(i), all[i].identifiers});
  }
  if (options_.weighs_coverage()) prepare_coverage(n_docs);
  if (options_.adjusts()) {
    select_best(std::max({k, requested.lexical, requested.vector}));
    if (options_.weighs_coverage()) compute_coverages();
    if (options_.has_signals()) add_signals();
    refuse_by_thresholds();
  }
  IdentifierBonus bonus;
  if (any_identifier_)
    for (const RankedCandidate& entry : s_.ranked) bonus.add(entry.score, entry.identifiers);
  if (options_.diversifies()) {
    diversify(k);
  } else {
    keep_best(k);
  }
  report(bonus.of_each(), result);
}

void Ranker::collect_with_neighbours() {
  for (uint32_t rank = 1; rank <= s_.lexical_docs.size(); ++rank)
    s_.candidates.add_lexical(s_.lexical_docs[rank - 1], neighbours_->lexical_score_at(rank));
  for (uint32_t rank = 1; rank <= s_.vector_docs.size(); ++rank)
    s_.candidates.add_vector(s_.vector_docs[rank - 1], neighbours_->similarity_at(rank));
}

void Ranker::collect() {
  s_.candidates.reset(s_.lexical_docs.size() + s_.vector_docs.size() + 16);
  if (neighbours_) return collect_with_neighbours();
  if (find_lexical_places()) {
    s_.candidates.add_rankings(
        s_.lexical_docs, [&](uint32_t rank) { return lexical_.score_at(rank); }, s_.vector_docs,
        [&](uint32_t rank) { return vector_.similarity_at(rank); }, s_.places);
    return;
  }
  for (uint32_t rank = 1; rank <= s_.lexical_docs.size(); ++rank)
    s_.candidates.add_lexical(s_.lexical_docs[rank - 1], lexical_.score_at(rank));
  for (uint32_t rank = 1; rank <= s_.vector_docs.size(); ++rank)
    s_.candidates.add_vector(s_.vector_docs[rank - 1], vector_.similarity_at(rank));
}

// Stores in scratch.places, for each document of the vector ranking, its rank in the lexical ranking, from 1,
// or 0. Uses one byte per visible document; a search reads and writes only those of ranked documents. Returns
// false if that would be too many bytes.
bool Ranker::find_lexical_places() {
  constexpr size_t kMostPlaces = 255, kMostChunks = 4;
  const size_t n_lexical = s_.lexical_docs.size();
  if (n_lexical > kMostPlaces || s_.chunks.size() > kMostChunks) return false;
  s_.places.resize(s_.vector_docs.size());
  const size_t n_docs = s_.chunks.empty() ? 0 : ((s_.chunks.size() - 1) << 16) + s_.chunks.back().n_docs;
  if (s_.lexical_places.size() < n_docs) s_.lexical_places.resize(n_docs);
  uint8_t* const place_of = s_.lexical_places.data();
  for (size_t i = 0; i < n_lexical; ++i) place_of[s_.lexical_docs[i]] = static_cast<uint8_t>(i + 1);
  for (size_t i = 0; i < s_.vector_docs.size(); ++i) s_.places[i] = place_of[s_.vector_docs[i]];
  for (size_t i = 0; i < n_lexical; ++i) place_of[s_.lexical_docs[i]] = 0;
  return true;
}

// Documents with an identifier of the query become candidates even if the other words of a long
// query outrank them.
void Ranker::add_holders(uint64_t n_docs) {
  if (terms_.empty()) return;
  find_identifiers(s_.tokens, terms_, s_.dfs, s_.weighting, n_docs, s_.identifiers);
  size_t n_new = 0;
  const auto add = [&](uint32_t doc) {
    Candidate* candidate = s_.candidates.find(doc);
    if (!candidate) {
      if (n_new == kMostNewHolders) return;
      ++n_new;
      candidate = &s_.candidates.at(doc);
    }
    if (candidate->identifiers != 0) return;
    // The lexical ranking may have been cut off before this document.
    if (candidate->lexical_rank == 0) candidate->bm25 = lexical_.score(doc >> 16, doc & 0xffffu);
    candidate->identifiers = std::max(n_identifiers_of(doc), 1u);
    any_identifier_ = true;
  };
  for (const uint32_t term : s_.identifiers.members) lexical_.visit_holders(term, add);
  if (!s_.identifiers.members.empty() || s_.identifiers.n_named < 2) return;
  find_pairs(rare_limit(n_docs));
  if (static_cast<double>(s_.pair_docs.size()) > rare_limit(n_docs)) return;
  for (const uint32_t doc : s_.pair_docs) add(doc);
}

// Stores in scratch.pair_docs the documents that contain the rarest identifier and another one, ascending; if
// there are more than `most`, possibly only enough to exceed it.
void Ranker::find_pairs(double most) {
  s_.pair_docs.clear();
  const std::vector<uint32_t>& forms = s_.identifiers.named[rarest(s_.identifiers, s_.dfs)];
  uint64_t n_holders = 0;
  for (const uint32_t form : forms) n_holders += s_.dfs[form];
  if (n_holders > kMostVisitedHolders) return;
  for (const uint32_t form : forms) {
    lexical_.visit_holders(form, [&](uint32_t doc) {
      // Documents of one form are distinct: these suffice to show that there are too many.
      if (forms.size() == 1 && static_cast<double>(s_.pair_docs.size()) > most) return;
      if (n_identifiers_of(doc) > 1) s_.pair_docs.push_back(doc);
    });
  }
  std::sort(s_.pair_docs.begin(), s_.pair_docs.end());
  s_.pair_docs.erase(std::unique(s_.pair_docs.begin(), s_.pair_docs.end()), s_.pair_docs.end());
}

// Number of the query's identifiers that a document contains, each in any of its forms.
uint32_t Ranker::n_identifiers_of(uint32_t doc) const {
  if (s_.identifiers.n_named < 2) return 1;
  uint32_t n = 0;
  for (size_t i = 0; i < s_.identifiers.n_named; ++i) {
    const std::vector<uint32_t>& forms = s_.identifiers.named[i];
    n += std::any_of(forms.begin(), forms.end(),
                     [&](uint32_t form) { return lexical_.holds(doc >> 16, doc & 0xffffu, form); })
             ? 1
             : 0;
  }
  return n;
}

void Ranker::complete_similarities() {
  if (s_.vector_docs.empty()) return;
  for (Candidate& candidate : s_.candidates.all()) {
    if (candidate.vector_rank == 0)
      candidate.similarity = vector_.similarity(candidate.doc >> 16, candidate.doc & 0xffffu);
  }
}

// Returns the lexical share.
double Ranker::fuse_automatically(uint64_t n_docs, size_t k, const Asked& requested) {
  for (const std::vector<uint32_t>& docs : s_.extra_docs) {
    for (const uint32_t doc : docs) s_.candidates.at(doc);
  }
  const fusion::Scale scale = fusion_scale(s_, terms_, n_docs, vector_);
  const fusion::Automatic automatic(scale, s_.candidates);
  if (options_.fusion.guarantee) s_.guarantee.find(s_.candidates);
  // If the lexical ranking was not cut off, other documents contain no term.
  const bool lexical_cut = s_.lexical_docs.size() >= requested.lexical;
  if (only_fused_scores() && !dated_ && s_.extra_docs.empty()) {
    rescore_best(automatic, k, lexical_cut);
    return automatic.share();
  }
  s_.unscored.clear();
  const std::span<const Candidate> all = s_.candidates.all();
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].lexical_rank == 0 || all[i].vector_rank == 0) s_.unscored.push_back(i);
  }
  complete_scores(automatic.least_similarity());
  fusion::fuse(options_.fusion, s_.extra_docs, terms_.size(), scale, s_.candidates, parts_);
  if (!s_.guarantee.is_met(all)) raise_guaranteed();
  return automatic.share();
}

// Same as completing all scores, for the best k, for those that a guarantee compares, and for the parts of
// those that are scored; nothing is reported of the others. An arm gives documents that it did not rank at most
// its last score, so among the candidates of one arm alone this bound descends with their rank: after the first
// one that stays below k others, none needs to be scored (the threshold algorithm of Fagin, Lotem and Naor 2003).
// Documents with identifiers are all scored: their bonus depends on the least of their scores. With identifiers or
// parts, those that may be guaranteed are scored; otherwise what is raised needs none.
void Ranker::rescore_best(const fusion::Automatic& automatic, size_t k, bool lexical_cut) {
  const std::span<Candidate> all = s_.candidates.all();
  const auto n_lexical = static_cast<uint32_t>(s_.lexical_docs.size());
  const std::span<const uint32_t> by_vector = s_.candidates.by_vector_rank();
  k = std::max(k, n_compared_by_guarantee());
  const bool lacks_bm25 = lexical_cut && n_lexical != 0;
  const bool scores_guaranteed = any_identifier_ || parts_;
  const auto needs_score = [&](uint32_t i) {
    return all[i].identifiers != 0 || (scores_guaranteed && s_.guarantee.contains(i));
  };
  s_.coarse.clear();
  s_.unscored.clear();
  if (parts_) parts_->resize(all.size());
  const auto score = [&](uint32_t i) {
    const double words = automatic.words(all[i].bm25, all[i].lexical_place);
    const double meaning = automatic.meaning(all[i].similarity, all[i].vector_place);
    all[i].score = words + meaning;
    if (parts_) (*parts_)[i] = {.words = words + 0.0, .meaning = meaning + 0.0};
    all[i].refused = false;
    s_.coarse.push_back(coarse_score(all[i].score));
  };
  const auto complete = [&] {
    complete_scores(automatic.least_similarity());
    for (const uint32_t i : s_.unscored) score(i);
    s_.unscored.clear();
  };
  size_t n_by_words_alone = 0;
  for (uint32_t i = 0; i < n_lexical; ++i) {
    if (all[i].vector_rank != 0 || by_vector.empty()) {
      score(i);
      continue;
    }
    all[i].refused = true;
    if (n_by_words_alone++ < k || needs_score(i)) s_.unscored.push_back(i);
  }
  // BM25 is at least 0, which counts for the k others, and is exactly 0 if the lexical ranking was
  // not cut off.
  size_t n_by_vector_alone = 0;
  for (const uint32_t i : by_vector) {
    if (all[i].lexical_rank != 0) continue;
    all[i].refused = true;
    const bool is_needed = needs_score(i);
    if (n_by_vector_alone++ >= k && !is_needed) continue;
    if (!lacks_bm25) {
      score(i);
    } else if (is_needed) {
      s_.unscored.push_back(i);
    } else {
      s_.coarse.push_back(coarse_score(automatic.score(all[i])));
    }
  }
  // Documents with identifiers that neither arm ranked.
  for (size_t i = n_lexical + n_by_vector_alone; i < all.size(); ++i)
    s_.unscored.push_back(static_cast<uint32_t>(i));
  complete();
  uint32_t kth = 0;
  if (s_.coarse.size() >= k) kth = simd::kernels().kth_greatest(s_.coarse.data(), s_.coarse.size(), k, 0);
  // Scores increase with both parts. Among documents that are sorted by one part and have the other part in
  // common, those that reach the k-th score come first.
  const auto reaches = [&](double words, double meaning) { return coarse_score(words + meaning) >= kth; };
  const std::span<const Candidate> lexical = s_.candidates.lexical();
  const double least_meaning = automatic.meaning(automatic.least_similarity(), 0);
  const auto end = std::partition_point(lexical.begin(), lexical.end(), [&](const Candidate& candidate) {
    return reaches(automatic.words(candidate.bm25, candidate.lexical_place), least_meaning);
  });
  const auto n_reaching = static_cast<uint32_t>(end - lexical.begin());
  for (uint32_t i = 0; i < n_reaching; ++i)
    if (all[i].refused) s_.unscored.push_back(i);
  if (lacks_bm25) {
    const double last_words = automatic.words(lexical.back().bm25, 0);
    const auto last = std::partition_point(by_vector.begin(), by_vector.end(), [&](uint32_t i) {
      return reaches(last_words, automatic.meaning(all[i].similarity, all[i].vector_place));
    });
    for (const uint32_t i : by_vector.first(static_cast<size_t>(last - by_vector.begin())))
      if (all[i].lexical_rank == 0 && all[i].refused) s_.unscored.push_back(i);
  }
  complete();
  may_raise_ = !any_identifier_;
  if (any_identifier_ && !s_.guarantee.is_met(all)) raise_guaranteed();
}

// Completes the scores of scratch.unscored by the arm that did not rank them. A similarity is capped at the
// ranked ones, even if the vector ranking missed the document.
void Ranker::complete_scores(double least_similarity) {
  const std::span<Candidate> all = s_.candidates.all();
  s_.unscored_docs.clear();
  s_.places.clear();
  for (const uint32_t i : s_.unscored) {
    if (all[i].lexical_rank != 0) continue;
    s_.unscored_docs.push_back(all[i].doc);
    s_.places.push_back(i);
  }
  if (!terms_.empty()) {
    lexical_.scores(s_.unscored_docs, s_.boosts);
    for (size_t i = 0; i < s_.places.size(); ++i) all[s_.places[i]].bm25 = s_.boosts[i];
  }
  if (s_.vector_docs.empty()) return;
  s_.unscored_docs.clear();
  s_.places.clear();
  const vector::Column* column = nullptr;
  uint32_t chunk = 0xffffffffu;
  for (const uint32_t i : s_.unscored) {
    if (all[i].vector_rank != 0) continue;
    if (chunk != all[i].doc >> 16) column = s_.chunks[chunk = all[i].doc >> 16].chunk->vectors();
    const uint32_t offset = all[i].doc & 0xffffu;
    const bool whole = column && column->has(offset);
    if (!whole && !(vector_.any_passages() && s_.chunks[chunk].chunk->has_vector(offset))) continue;
    s_.unscored_docs.push_back(all[i].doc);
    s_.places.push_back(i);
  }
  vector_.similarities(s_.unscored_docs, s_.similarities);
  for (size_t i = 0; i < s_.places.size(); ++i)
    all[s_.places[i]].similarity = std::min(static_cast<double>(s_.similarities[i]), least_similarity);
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

// Computes the coverage of all ranked documents, chunk by chunk.
void Ranker::compute_coverages() {
  const size_t n = s_.ranked.size();
  s_.coverages.assign(n, total_idf_ == 0.0 ? kUnknown : 0.0);
  if (total_idf_ == 0.0) return;
  // Indices into the ranking, grouped by chunk.
  s_.places.resize(n);
  for (uint32_t i = 0; i < n; ++i) s_.places[i] = i;
  const auto chunk_of = [&](uint32_t place) { return s_.ranked[place].doc >> 16; };
  if (s_.chunks.size() > 1) {
    std::sort(s_.places.begin(), s_.places.end(),
              [&](uint32_t a, uint32_t b) { return chunk_of(a) < chunk_of(b); });
  }
  for (size_t first = 0, end = 0; first < n; first = end) {
    const uint32_t chunk = chunk_of(s_.places[first]);
    while (end < n && chunk_of(s_.places[end]) == chunk) ++end;
    for (uint32_t term = 0; term < terms_.size(); term += LexicalArm::kTermsAtOnce)
      add_coverages(chunk, term, std::span(s_.places).subspan(first, end - first));
  }
  for (double& coverage : s_.coverages) coverage /= total_idf_;
}

// Adds the contribution of the terms from `first_term` on, for documents of one chunk.
void Ranker::add_coverages(uint32_t chunk, uint32_t first_term, std::span<const uint32_t> places) {
  constexpr size_t kBeyond = 16;  // that a kernel may write
  s_.term_offsets.resize(places.size() + kBeyond);
  s_.term_bits.assign(places.size() + kBeyond, 0);
  for (size_t i = 0; i < places.size(); ++i) s_.term_offsets[i] = s_.ranked[places[i]].doc & 0xffffu;
  lexical_.find_terms(chunk, first_term, std::span(s_.term_offsets).first(places.size()),
                      s_.term_bits.data());
  for (size_t i = 0; i < places.size(); ++i) {
    double& coverage = s_.coverages[places[i]];
    for (uint32_t bits = s_.term_bits[i]; bits != 0; bits &= bits - 1)
      coverage += s_.term_idfs[first_term + static_cast<uint32_t>(std::countr_zero(bits))];
  }
}

// The column of a field in each chunk; null if no document of the chunk has it.
std::span<const filter::Column* const> Ranker::columns_of(std::string_view field) {
  const uint64_t hash = base::seeded_hash64(field);
  s_.columns.clear();
  for (const ChunkSnapshot& chunk : s_.chunks) {
    const filter::Columns* columns = chunk.chunk->columns();
    s_.columns.push_back(columns ? columns->find(field, hash) : nullptr);
  }
  return s_.columns;
}

void Ranker::scale_scores() {
  const double least = least_score(), width = spread();
  for (RankedCandidate& entry : s_.ranked) {
    if (parts_) (*parts_)[entry.candidate].scale(entry.score, least, width);
    entry.score = width > 0.0 ? (entry.score - least) / width : 1.0;
  }
}

void Ranker::add_signals() {
  scale_scores();
  if (options_.coverage_weight != 0.0 && total_idf_ != 0.0) {
    for (size_t i = 0; i < s_.ranked.size(); ++i)
      add(s_.ranked[i], &fusion::ScoreParts::coverage, options_.coverage_weight * s_.coverages[i]);
  }
  if (options_.recency_weight != 0.0) add_recency();
  if (options_.entity_weight != 0.0) add_entities();
  if (options_.prior_weight != 0.0) add_priors();
}

// 1 for documents created now or later, halved with every half-life; 0 without a creation time.
void Ranker::add_recency() {
  const int64_t now_us = options_.now_us != RankingOptions::kNow ? options_.now_us : clock_us();
  const std::span<const filter::Column* const> columns = columns_of("created_at");
  s_.times.clear();  // all are read first: they are scattered
  for (const RankedCandidate& entry : s_.ranked) {
    const filter::Column* column = columns[entry.doc >> 16];
    s_.times.push_back(column ? column->times.view(s_.chunks[entry.doc >> 16].n_docs).at(entry.doc & 0xffffu)
                              : filter::Track<int64_t>::kAbsent);
  }
  for (size_t i = 0; i < s_.ranked.size(); ++i) {
    const int64_t created = s_.times[i];
    if (created == filter::Track<int64_t>::kAbsent) continue;
    const double age_us = created < now_us ? static_cast<double>(now_us) - static_cast<double>(created) : 0.0;
    add(s_.ranked[i], &fusion::ScoreParts::recency,
        options_.recency_weight * std::exp2(-(age_us / options_.half_life_us)));
  }
}

// An entity counts less the more documents name it; of several entities in a document the best counts.
void Ranker::add_entities() {
  s_.boosts.assign(s_.ranked.size(), 0.0);
  for (size_t e = 0; e < entities_.size(); ++e) {
    const uint64_t n_links = s_.entity_links[e];
    if (n_links == 0) continue;
    const double others = static_cast<double>(n_links - 1);
    const double damping = 1.0 / (1.0 + 0.001 * (others * others));
    for (uint32_t c = 0; c < s_.chunks.size(); ++c) {
      s_.naming.reset(s_.chunks[c].n_docs);
      s_.evaluation.run(entities_[e], s_.chunks[c].chunk->columns(), s_.chunks[c].n_docs, s_.naming.words());
      for (size_t i = 0; i < s_.ranked.size(); ++i) {
        if (s_.ranked[i].doc >> 16 == c && s_.naming.test(s_.ranked[i].doc & 0xffffu))
          s_.boosts[i] = std::max(s_.boosts[i], damping);
      }
    }
  }
  for (size_t i = 0; i < s_.ranked.size(); ++i)
    add(s_.ranked[i], &fusion::ScoreParts::entities, options_.entity_weight * s_.boosts[i]);
}

void Ranker::add_priors() {
  const std::span<const filter::Column* const> columns = columns_of(options_.prior_field);
  for (RankedCandidate& entry : s_.ranked) {
    const uint32_t chunk = entry.doc >> 16, offset = entry.doc & 0xffffu;
    if (!columns[chunk]) continue;
    const uint32_t n_docs = s_.chunks[chunk].n_docs;
    const int64_t integer = columns[chunk]->integers.view(n_docs).at(offset);
    const int64_t real = columns[chunk]->reals.view(n_docs).at(offset);
    double prior = 0.0;
    if (integer != filter::Track<int64_t>::kAbsent) {
      prior = static_cast<double>(integer);
    } else if (real != filter::Track<int64_t>::kAbsent) {
      prior = filter::unsortable_real(real);
    }
    // Scores stay finite, so that their range is a number.
    add(entry, &fusion::ScoreParts::prior,
        std::clamp(options_.prior_weight * prior, -kMostPrior, kMostPrior));
  }
}

double Ranker::least_score() const {
  double least = std::numeric_limits<double>::infinity();
  for (const RankedCandidate& entry : s_.ranked) least = std::min(least, entry.score);
  return least;
}

// The difference of the greatest and the least score.
double Ranker::spread() const {
  double greatest = -std::numeric_limits<double>::infinity();
  for (const RankedCandidate& entry : s_.ranked) greatest = std::max(greatest, entry.score);
  return s_.ranked.empty() ? 0.0 : greatest - least_score();
}

Relevance Ranker::relevance(const RankedCandidate& entry, double coverage) const {
  if (entry.identifiers != 0) return Relevance::high;
  double similarity = s_.candidates.all()[entry.candidate].similarity;
  if ((neighbours_ || std::isnan(similarity)) && semantic_)
    similarity = vector_.similarity(entry.doc >> 16, entry.doc & 0xffffu);
  for (size_t tier = options_.relevance.size(); tier > 0; --tier) {
    const RelevanceBound& bound = options_.relevance[tier - 1];
    // Comparisons with NaN are false: unknown values are no evidence.
    if (similarity >= bound.similarity || coverage >= bound.coverage) return static_cast<Relevance>(tier);
  }
  return Relevance::none;
}

void Ranker::refuse_by_thresholds() {
  size_t n_kept = 0;
  for (size_t i = 0; i < s_.ranked.size(); ++i) {
    const RankedCandidate& entry = s_.ranked[i];
    if (entry.score < options_.min_score) continue;
    if (options_.least_relevance != Relevance::none &&
        relevance(entry, s_.coverages[i]) < options_.least_relevance)
      continue;
    s_.ranked[n_kept++] = entry;
  }
  s_.ranked.resize(n_kept);
}

namespace {

bool better(const RankedCandidate& a, const RankedCandidate& b) noexcept {
  if (a.identifiers != b.identifiers) return a.identifiers > b.identifiers;
  return a.score != b.score ? a.score > b.score : a.doc < b.doc;
}

}  // namespace

// Call if a candidate that may be guaranteed is not among the first.
void Ranker::raise_guaranteed() {
  keep_far_out();
  s_.guarantee.raise(s_.candidates.all(), parts_);
}

void Ranker::keep_far_out() {
  s_.guarantee.keep_far_out(
      s_.vector_docs.size(),
      [&](size_t rank) { return static_cast<double>(vector_.similarity_at(static_cast<uint32_t>(rank))); },
      [&](uint32_t i) {
        const Candidate& candidate = s_.candidates.all()[i];
        return neighbours_ ? vector_.similarity(candidate.doc >> 16, candidate.doc & 0xffffu)
                           : candidate.similarity;
      });
}

// Number of the best candidates whose scores the guarantee needs; 0 if nothing may be guaranteed.
size_t Ranker::n_compared_by_guarantee() const {
  const size_t n_guaranteed = s_.guarantee.found().size();
  if (n_guaranteed == 0) return 0;
  size_t n_in_tier = 0;
  if (any_identifier_)
    for (const Candidate& candidate : s_.candidates.all()) n_in_tier += candidate.identifiers != 0 ? 1 : 0;
  return std::max(fusion::Guarantee::kPlaces, n_guaranteed + n_in_tier);
}

// Takes the best k in order, if only fused scores and identifiers decide. Same as raise_guaranteed() before
// take_best(k), but compares only the first candidates, without the identifier tier.
void Ranker::take_best_guaranteed(size_t k) {
  fusion::Guarantee& guarantee = s_.guarantee;
  if (!may_raise_ || guarantee.found().empty()) return take_best(k);
  take_best(std::max(k, fusion::Guarantee::kPlaces));
  if (!guarantee_is_met()) {
    keep_far_out();
    if (!guarantee_is_met()) raise_into_best();
  }
  if (s_.ranked.size() > k) s_.ranked.resize(k);
}

// Whether the first of the best contain all that may be guaranteed.
bool Ranker::guarantee_is_met() const {
  const std::span<const RankedCandidate> best(s_.ranked);
  const auto first = best.first(std::min(fusion::Guarantee::kPlaces, best.size()));
  const std::span<const uint32_t> found = s_.guarantee.found();
  return std::all_of(found.begin(), found.end(), [&](uint32_t i) {
    return std::any_of(first.begin(), first.end(),
                       [&](const RankedCandidate& hit) { return hit.candidate == i; });
  });
}

// Raises what is guaranteed, given the best candidates in order, and puts it among them.
void Ranker::raise_into_best() {
  fusion::Guarantee& guarantee = s_.guarantee;
  const std::span<Candidate> all = s_.candidates.all();
  size_t n_others = fusion::Guarantee::kPlaces - guarantee.found().size();
  const auto passed = std::find_if(s_.ranked.begin(), s_.ranked.end(), [&](const RankedCandidate& hit) {
    return !guarantee.contains(hit.candidate) && n_others-- == 0;
  });
  guarantee.raise_above(passed->score, all, parts_);
  std::erase_if(s_.ranked, [&](const RankedCandidate& hit) { return guarantee.contains(hit.candidate); });
  for (const uint32_t i : guarantee.found()) {
    const RankedCandidate entry{all[i].score, all[i].doc, i, 0};
    s_.ranked.insert(std::lower_bound(s_.ranked.begin(), s_.ranked.end(), entry, better), entry);
  }
}

// Takes the best n in order, if only fused scores and identifiers decide.
void Ranker::take_best(size_t n) {
  constexpr uint32_t kRefused = 0;
  constexpr size_t kBeyond = 16;  // that a kernel reads and writes
  const std::span<const Candidate> all = s_.candidates.all();
  const simd::Kernels& kernels = simd::kernels();
  s_.coarse.resize(all.size() + kBeyond);
  s_.places.resize(all.size() + 2 * kBeyond);
  for (size_t i = 0; i < all.size(); ++i) {
    const uint32_t holds = (0u - (all[i].identifiers != 0 ? 1u : 0u)) >> 1;  // puts them first
    const uint32_t score = std::max(coarse_score(all[i].score) | holds, kRefused + 1);
    s_.coarse[i] = score & (static_cast<uint32_t>(all[i].refused) - 1);  // without a branch
  }
  std::fill_n(s_.coarse.begin() + static_cast<ptrdiff_t>(all.size()), kBeyond, kRefused);
  uint32_t nth = kRefused + 1;
  if (n < all.size()) nth = std::max(nth, kernels.kth_greatest(s_.coarse.data(), all.size(), n, 0));
  const size_t n_best =
      kernels.select_above(s_.coarse.data(), (all.size() + 15) / 16 * 16, nth - 1, s_.places.data());
  s_.ranked.resize(n_best);
  for (size_t i = 0; i < n_best; ++i) {
    const Candidate& candidate = all[s_.places[i]];
    s_.ranked[i] = {candidate.score, candidate.doc, s_.places[i], candidate.identifiers};
  }
  std::sort(s_.ranked.begin(), s_.ranked.end(), better);
  if (s_.ranked.size() > n) s_.ranked.resize(n);
}

// Drops all but the best n, leaving them in any order. A few bits of each score distinguish most of them
// without branches; only documents equal in these bits are compared.
void Ranker::select_best(size_t n) {
  const size_t n_ranked = s_.ranked.size();
  if (n >= n_ranked || n == 0) return s_.ranked.resize(std::min(n, n_ranked));
  s_.coarse.resize(n_ranked);
  for (size_t i = 0; i < n_ranked; ++i) {
    s_.coarse[i] = s_.ranked[i].identifiers != 0 ? (1u << 31) - 1 : coarse_score(s_.ranked[i].score);
  }
  const uint32_t nth = simd::kernels().kth_greatest(s_.coarse.data(), n_ranked, n, 0);
  s_.ranked_before.clear();
  size_t n_kept = 0;
  for (size_t i = 0; i < n_ranked; ++i) {
    const RankedCandidate entry = s_.ranked[i];
    if (s_.coarse[i] == nth) s_.ranked_before.push_back(entry);
    s_.ranked[n_kept] = entry;
    n_kept += s_.coarse[i] > nth ? 1 : 0;
  }
  std::vector<RankedCandidate>& equal = s_.ranked_before;
  const auto n_missing = static_cast<ptrdiff_t>(n - n_kept);
  if (n_missing < static_cast<ptrdiff_t>(equal.size()))
    std::nth_element(equal.begin(), equal.begin() + n_missing, equal.end(), better);
  std::copy_n(equal.begin(), n_missing, s_.ranked.begin() + static_cast<ptrdiff_t>(n_kept));
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

// Documents of the identifier tier are taken first, in their order; the others must also differ from them.
void Ranker::diversify(size_t k) {
  if (any_identifier_) std::sort(s_.ranked.begin(), s_.ranked.end(), better);
  const double least = least_score(), width = spread();
  s_.relevances.clear();
  size_t n_identifiers = 0;
  for (const RankedCandidate& entry : s_.ranked) {
    s_.relevances.push_back(width > 0.0 ? (entry.score - least) / width : 1.0);
    n_identifiers += entry.identifiers != 0 ? 1 : 0;
  }
  s_.directions.clear();
  for (const RankedCandidate& entry : s_.ranked) s_.directions.push_back(vector_.direction(entry.doc));
  const auto taken = s_.diversity.select(
      s_.relevances, options_.mmr_lambda, k, n_identifiers,
      [&](uint32_t i, std::span<const uint32_t> some) { return vector_.greatest_cosine(i, some); },
      [&](uint32_t i, uint32_t j) { return better(s_.ranked[i], s_.ranked[j]); },
      [&](uint32_t i) { VectorArm::prefetch(s_.directions[i]); });
  s_.ranked_before = s_.ranked;
  s_.ranked.clear();
  for (const uint32_t place : taken) s_.ranked.push_back(s_.ranked_before[place]);
}

void Ranker::report(double identifier_bonus, SearchResult& result) const {
  result.hits.reserve(s_.ranked.size());
  for (const RankedCandidate& entry : s_.ranked) {
    const Candidate& candidate = s_.candidates.all()[entry.candidate];
    Hit& hit = result.hits.emplace_back();
    hit.chunk = entry.doc >> 16;
    hit.offset = entry.doc & 0xffffu;
    const double bonus = identifier_bonus * entry.identifiers;
    hit.score = entry.identifiers != 0 ? entry.score + bonus : entry.score;
    hit.lexical_rank = candidate.lexical_rank;
    hit.vector_rank = candidate.vector_rank;
    if (candidate.lexical_rank != 0) hit.bm25 = candidate.bm25;
    if (candidate.vector_rank != 0) hit.similarity = candidate.similarity;
    if (neighbours_) {  // evidence is reported for the document alone
      if (candidate.lexical_rank != 0) hit.bm25 = lexical_.score(hit.chunk, hit.offset);
      if (candidate.vector_rank != 0) hit.similarity = vector_.similarity(hit.chunk, hit.offset);
    }
    hit.identifier = entry.identifiers != 0;
    if (!parts_) continue;
    result.parts.push_back((*parts_)[entry.candidate]);
    result.parts.back().identifier = bonus;
  }
}

}  // namespace scrubjay::engine
