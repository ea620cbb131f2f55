// Ranking: merges the results of the two arms into hits, in one pass over the candidates.
//
//  1. Collect candidates: both rankings (sorted again if there are turns: neighbour_signal.hpp), the caller's
//     rankings, and documents that contain an identifier of the query. Automatic fusion uses the scores of
//     both arms for each candidate: missing scores are computed, and if only the fused scores decide, only
//     for candidates that can be among the best k.
//  2. Fuse (fusion/fuse.hpp): each candidate gets a score or is rejected. Automatic fusion then raises what
//     one ranking alone is sure of (fusion/guarantee.hpp). Dates that the question names add to the scores
//     (date_signal.hpp).
//  3. If there are signals: keep the best `depth` by (identifier tier, score), scale their scores to 0..1,
//     and add the weighted signals.
//  4. Apply the thresholds.
//  5. Select the best k by (identifier tier, score, document), or k of the best `depth` by marginal
//     relevance.
//
// The reported score of a hit in the identifier tier is raised by (1 + the range of all scores) for each
// identifier, so that scores descend with the order (except with marginal relevance).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/lexical_arm.hpp"
#include "engine/neighbour_signal.hpp"
#include "engine/ranking_options.hpp"
#include "engine/result.hpp"
#include "engine/search_scratch.hpp"
#include "engine/vector_arm.hpp"

namespace scrubjay::engine {

class Ranker {
 public:
  Ranker(const RankingOptions& options, SearchScratch& scratch, const LexicalArm& lexical, VectorArm& vector,
         std::span<const lexical::TermCount> terms, std::span<const filter::Predicate> entities,
         bool semantic, bool dated, const NeighbourSignal* neighbours, bool explain)
      : options_(options),
        s_(scratch),
        lexical_(lexical),
        vector_(vector),
        terms_(terms),
        entities_(entities),
        semantic_(semantic),
        dated_(dated),
        neighbours_(neighbours),
        parts_(explain ? &scratch.parts : nullptr) {}

  // Number of candidates requested from each arm.
  struct Asked {
    size_t lexical, vector;
  };

  // Call after both arms ranked. `fused`: there is more than one ranking; otherwise the scores are those of
  // the only one. `depth` is the size of the largest requested ranking, at least k.
  void run(bool fused, uint64_t n_docs, size_t k, const Asked& requested, SearchResult& result);

 private:
  void collect();
  [[nodiscard]] bool find_lexical_places();
  void collect_with_neighbours();
  void add_holders(uint64_t n_docs);
  void find_pairs(double most);
  [[nodiscard]] uint32_t n_identifiers_of(uint32_t doc) const;
  void complete_similarities();
  [[nodiscard]] double fuse_automatically(uint64_t n_docs, size_t k, const Asked& requested);
  void complete_scores(double least_similarity);
  void rescore_best(const fusion::Automatic& automatic, size_t k, bool lexical_cut);
  [[nodiscard]] size_t n_compared_by_guarantee() const;
  void raise_guaranteed();
  void keep_far_out();
  void take_best_guaranteed(size_t k);
  [[nodiscard]] bool guarantee_is_met() const;
  void raise_into_best();
  // Whether only the fused scores order the candidates (after the identifier tier).
  [[nodiscard]] bool only_fused_scores() const { return !options_.adjusts() && !options_.diversifies(); }
  void prepare_coverage(uint64_t n_docs);
  void compute_coverages();
  void add_coverages(uint32_t chunk, uint32_t first_term, std::span<const uint32_t> places);
  [[nodiscard]] std::span<const filter::Column* const> columns_of(std::string_view field);
  void scale_scores();
  // Adds to a score and to one of its parts.
  void add(RankedCandidate& entry, double fusion::ScoreParts::* part, double value) {
    entry.score += value;
    if (parts_) (*parts_)[entry.candidate].*part += value;
  }
  void add_signals();
  void add_recency();
  void add_entities();
  void add_priors();
  void refuse_by_thresholds();
  void take_best(size_t n);
  void select_best(size_t n);
  void keep_best(size_t n);
  [[nodiscard]] double least_score() const;
  [[nodiscard]] double spread() const;
  void diversify(size_t k);
  // Strength of the evidence. `coverage` is weighted by idf over the query's counted terms, known or not.
  [[nodiscard]] Relevance relevance(const RankedCandidate& entry, double coverage) const;
  void report(double identifier_bonus, SearchResult& result) const;

  const RankingOptions& options_;
  SearchScratch& s_;
  const LexicalArm& lexical_;
  VectorArm& vector_;
  const std::span<const lexical::TermCount> terms_;
  const std::span<const filter::Predicate> entities_;
  const bool semantic_;
  const bool dated_;                              // scratch.dates is in use
  const NeighbourSignal* const neighbours_;       // sorted the rankings again; null: not used
  std::vector<fusion::ScoreParts>* const parts_;  // by candidate; null unless the search explains
  double total_idf_ = 0.0;
  bool any_identifier_ = false;
  bool may_raise_ = false;  // the guarantee has not raised scores yet
};

}  // namespace scrubjay::engine
