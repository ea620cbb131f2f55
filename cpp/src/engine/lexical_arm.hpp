// Lexical arm of a search: ranks the visible documents by BM25.
#pragma once

#include <cstdint>
#include <span>

#include "engine/search_scratch.hpp"
#include "lexical/bm25.hpp"

namespace scrubjay::engine {

class LexicalArm {
 public:
  // `terms`: those of the query. The scratch holds the snapshot and the postings of every chunk and term.
  LexicalArm(SearchScratch& scratch, std::span<const lexical::TermCount> terms) noexcept
      : s_(scratch), terms_(terms) {}

  // Replaces the terms before rank(); the scratch is filled again.
  void use(std::span<const lexical::TermCount> terms) noexcept { terms_ = terms; }

  // Fills scratch.lexical_docs, best first.
  void rank(const lexical::Bm25Parameters& bm25, size_t candidates);

  // Whether some chunk was scored match by match of the filter.
  [[nodiscard]] bool gathered() const noexcept { return gathered_; }
  // Score of the document at `rank`, from 1.
  [[nodiscard]] double score_at(uint32_t rank) const {
    return s_.weighting.score(base::key_score(keys_[rank - 1]));
  }
  // Score of any visible document; zero if it contains no term. Call after rank().
  [[nodiscard]] double score(uint32_t chunk, uint32_t offset) const;
  // The same for several documents, into `out`: faster than one by one.
  void scores(std::span<const uint32_t> docs, std::vector<double>& out) const;
  [[nodiscard]] bool holds(uint32_t chunk, uint32_t offset, uint32_t term) const;
  // Finds which of the terms [first_term, first_term + 31) documents of one chunk contain: sets bit t -
  // first_term of holds[i] (zero before) for every term t that the document at the i-th offset contains. Call
  // after rank().
  static constexpr uint32_t kTermsAtOnce = 31;
  void find_terms(uint32_t chunk, uint32_t first_term, std::span<uint32_t> offsets, uint32_t* holds) const;
  // Calls visit(document) for each visible document that contains a term, ascending. Call after rank().
  template <class Visit>
  void visit_holders(uint32_t term, Visit&& visit) const {
    for (uint32_t c = 0; c < s_.chunk_postings.size(); ++c) {
      const lexical::ChunkPostings& chunk = s_.chunk_postings[c];
      const lexical::TermPostings& postings = chunk.terms[term];
      for (uint32_t i = 0; i < postings.n; ++i) {
        const uint32_t offset = postings.offsets()[i];
        if (!chunk.dead || !chunk.dead->test(offset)) visit((c << 16) | offset);
      }
    }
  }

 private:
  void prepare_weights(const lexical::Bm25Parameters& bm25);
  void choose_way(size_t c);
  [[nodiscard]] lexical::Query query() const { return {s_.chunk_postings, s_.counts, &s_.weighting}; }

  SearchScratch& s_;
  std::span<const lexical::TermCount> terms_;
  bool gathered_ = false;
  std::span<const uint64_t> keys_;  // best first
};

}  // namespace scrubjay::engine
