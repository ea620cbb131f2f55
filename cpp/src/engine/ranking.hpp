// Ranking: from what the two arms found to the hits, in one pass over the candidates.
//
//  1. Candidates: both rankings (sorted anew where there are turns: neighbour_signal.hpp), the caller's
//     rankings, and documents that hold an identifier of the query. The automatic fusion goes by the scores
//     that both arms give each of them: the missing ones are asked for, and where nothing but the fused
//     scores decides, only of candidates that can be among the best k.
//  2. The fusion gives each a score (fusion/fuse.hpp) and may refuse some; dates that the question names add
//     to them (date_signal.hpp).
//  3. If there are signals: the best `depth` by (identifier tier, score) are kept, their scores scaled
//     to 0..1, and the weighted signals added.
//  4. Thresholds refuse more.
//  5. The best k by (identifier tier, score, document), or k of the best `depth` by marginal relevance.
// A hit of the identifier tier is reported with 1 + the spread of all scores added for each identifier, so that
// scores descend with the order (marginal relevance aside).
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

  // How many each arm was asked for.
  struct Asked {
    size_t lexical, vector;
  };

  // After both arms ranked. `fused`: there is more than one ranking; otherwise the scores are those of the
  // one. As many of the best as the deepest ranking was asked for, at least k, are looked at closely.
  void run(bool fused, uint64_t n_docs, size_t k, const Asked& asked, SearchResult& result);

 private:
  void collect();
  [[nodiscard]] bool find_lexical_places();
  void collect_with_neighbours();
  void add_holders(uint64_t n_docs);
  void find_pairs(double most);
  [[nodiscard]] uint32_t n_identifiers_of(uint32_t doc) const;
  void complete_similarities();
  [[nodiscard]] double fuse_automatically(uint64_t n_docs, size_t k, const Asked& asked);
  void complete_scores(double least_similarity);
  void rescore_best(const fusion::Automatic& automatic, size_t k, bool lexical_cut);
  void find_least(const fusion::Automatic& automatic);
  // And, before them, who holds identifiers.
  [[nodiscard]] bool only_fused_scores() const { return !options_.adjusts() && !options_.diversifies(); }
  void prepare_coverage(uint64_t n_docs);
  void compute_coverages();
  void add_coverages(uint32_t chunk, uint32_t first_term, std::span<const uint32_t> places);
  [[nodiscard]] std::span<const filter::Column* const> columns_of(std::string_view field);
  void scale_scores();
  // Adds to a score, and to a part of it.
  void add(RankedCandidate& one, double fusion::ScoreParts::* part, double value) {
    one.score += value;
    if (parts_) (*parts_)[one.candidate].*part += value;
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
  [[nodiscard]] double spread_of_candidates() const;
  void diversify(size_t k);
  // How good the evidence is; `coverage` weighted by idf, over the query's counting terms, known or not.
  [[nodiscard]] Relevance relevance(const RankedCandidate& one, double coverage) const;
  void report(double identifier_bonus, SearchResult& result) const;

  const RankingOptions& options_;
  SearchScratch& s_;
  const LexicalArm& lexical_;
  VectorArm& vector_;
  const std::span<const lexical::TermCount> terms_;
  const std::span<const filter::Predicate> entities_;
  const bool semantic_;
  const bool dated_;                              // scratch.dates says something
  const NeighbourSignal* const neighbours_;       // what sorted the rankings anew; null: nothing did
  std::vector<fusion::ScoreParts>* const parts_;  // of each candidate; null unless the search explains
  double total_idf_ = 0.0;
  bool any_identifier_ = false;
};

}  // namespace scrubjay::engine
