// Neighbour signal: a turn of a conversation gains from what another speaker said just before or after it, in
// both arms.
//
//   BM25:        b'(d) = b(d) + weight * sum of b(n)
//   similarity:  c'(d) = c(d) + weight * sum of max(0, c(n) - least similarity of the vector ranking)
//
// over the neighbours n of d: documents of the same exact scope that the filter admits, with the same text or
// integer in `run`, another one in `speaker`, and a number next to d's in `position`. Rankings are sorted again before
// fusion: an answer is found by its question. Turns of the same speaker do not help each other (measured).
// Scopes of more than kMostDocs documents are skipped.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/lexical_arm.hpp"
#include "engine/search_scratch.hpp"
#include "engine/vector_arm.hpp"

namespace scrubjay::engine {

class NeighbourSignal {
 public:
  static constexpr uint32_t kMostDocs = 65536;
  static constexpr double kNoScore = 0.0;

  NeighbourSignal(SearchScratch& scratch, const LexicalArm& lexical, const VectorArm& vector);

  // Whether any visible document that the filter admits is a turn.
  [[nodiscard]] static bool present(const SearchScratch& scratch);

  // Sorts scratch.lexical_docs and scratch.vector_docs again. Call after both arms ranked.
  void apply(double weight);
  // Score of the document at `rank` of each ranking, from 1; call after apply().
  [[nodiscard]] double lexical_score_at(uint32_t rank) const { return lexical_scores_[rank - 1]; }
  [[nodiscard]] double similarity_at(uint32_t rank) const { return similarities_[rank - 1]; }

  // The value of `run` or `speaker`: a text or an integer.
  struct Name {
    std::string_view text;
    int64_t number = filter::Track<int64_t>::kAbsent;

    [[nodiscard]] bool missing() const noexcept {
      return text.empty() && number == filter::Track<int64_t>::kAbsent;
    }
    [[nodiscard]] bool operator==(const Name&) const = default;
  };

 private:
  struct Turn {
    uint32_t run;  // index into runs_
    uint32_t doc;
    int64_t position;
    Name speaker;
  };
  struct Run {
    uint32_t partition;
    Name name;
  };
  struct TurnColumns {
    const filter::Column* run = nullptr;
    const filter::Column* position = nullptr;
    const filter::Column* speaker = nullptr;
    uint32_t partition = 0;
  };

  void find_columns();
  void find_runs(std::span<const uint32_t> docs);
  void find_turns();
  template <class Score>
  void add(double weight, std::vector<uint32_t>& docs, std::vector<double>& scores, Score&& score) const;
  template <class Visit>
  void visit_neighbours(uint32_t doc, Visit&& visit) const;

  SearchScratch& s_;
  const LexicalArm& lexical_;
  const VectorArm& vector_;
  std::vector<TurnColumns> columns_;  // by chunk
  std::vector<Run> runs_;             // runs of the ranked documents
  std::vector<Turn> turns_;           // of these runs, sorted by run, position, document
  std::vector<double> lexical_scores_, similarities_;
};

}  // namespace scrubjay::engine
