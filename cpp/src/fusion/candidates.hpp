// Candidates: the data of each document that a ranking of a search returned.
//
// One entry per document, in order of first appearance: the lexical ranking first, then the vector ranking,
// then the rest. An open-addressing table, built on first use, finds the entry of a document. Reuse one per
// thread: after the first searches nothing is allocated.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace scrubjay::fusion {

inline constexpr double kNoEvidence = std::numeric_limits<double>::quiet_NaN();

struct Candidate {
  double score = 0.0;               // the fused score
  double bm25 = 0.0;                // 0: no query term, or beyond the cut-off of the lexical ranking
  double similarity = kNoEvidence;  // NaN: unknown
  uint32_t doc = 0;
  uint32_t lexical_rank = 0;  // from 1; 0: not in that ranking
  uint32_t vector_rank = 0;
  // Like the ranks, but equal scores share the rank of the first; 0: not in that ranking.
  uint32_t lexical_place = 0, vector_place = 0;
  uint32_t identifiers = 0;  // in the identifier tier: number of the query's identifiers, at least 1
  bool refused = false;      // by a gate, a floor or a threshold
};

class Candidates {
 public:
  // Removes all entries; reserves room for n documents.
  void reset(size_t n) {
    entries_.clear();
    entries_.reserve(n);
    by_vector_rank_.clear();
    n_lexical_ = 0;
    n_in_table_ = kNoTable;
  }

  // Adds the next document of the lexical ranking (all of it before the vector ranking);
  // documents are distinct.
  void add_lexical(uint32_t doc, double bm25) {
    Candidate& entry = entries_.emplace_back();
    entry.doc = doc;
    entry.lexical_rank = static_cast<uint32_t>(++n_lexical_);
    entry.bm25 = bm25;
    const Candidate* before = n_lexical_ > 1 ? &entry - 1 : nullptr;
    entry.lexical_place = before && before->bm25 == bm25 ? before->lexical_place : entry.lexical_rank;
  }
  // Adds the next document of the vector ranking; documents are distinct.
  void add_vector(uint32_t doc, double similarity) { add_vector(at(doc), similarity); }
  // The same with its known rank in the lexical ranking, from 1; 0: not in that ranking.
  void add_vector(uint32_t doc, double similarity, uint32_t lexical_rank) {
    if (lexical_rank == 0) entries_.emplace_back().doc = doc;
    add_vector(lexical_rank == 0 ? entries_.back() : entries_[lexical_rank - 1], similarity);
  }
  // Same as reset(), add_lexical() for each document of one ranking, and add_vector() for each of the other,
  // in two passes without branches. lexical_ranks[i]: the lexical rank of vector_docs[i], or 0; bm25(rank)
  // and similarity(rank): ranks from 1.
  template <class Bm25, class Similarity>
  void add_rankings(std::span<const uint32_t> lexical_docs, Bm25&& bm25,
                    std::span<const uint32_t> vector_docs, Similarity&& similarity,
                    std::span<const uint32_t> lexical_ranks) {
    entries_.resize(lexical_docs.size() + vector_docs.size());
    by_vector_rank_.resize(vector_docs.size());
    n_lexical_ = lexical_docs.size();
    double before = kNoEvidence;  // unequal to everything
    uint32_t place = 0;
    for (uint32_t rank = 1; rank <= n_lexical_; ++rank) {
      Candidate& entry = entries_[rank - 1];
      entry.doc = lexical_docs[rank - 1];
      entry.lexical_rank = rank;
      entry.bm25 = bm25(rank);
      place = entry.bm25 == before ? place : rank;
      entry.lexical_place = place;
      before = entry.bm25;
    }
    before = kNoEvidence;
    auto n = static_cast<uint32_t>(n_lexical_);
    for (uint32_t rank = 1; rank <= vector_docs.size(); ++rank) {
      const uint32_t known = lexical_ranks[rank - 1];
      const uint32_t at = known != 0 ? known - 1 : n;
      n += known != 0 ? 0 : 1;
      by_vector_rank_[rank - 1] = at;
      Candidate& entry = entries_[at];
      entry.doc = vector_docs[rank - 1];
      entry.vector_rank = rank;
      entry.similarity = similarity(rank);
      place = entry.similarity == before ? place : rank;
      entry.vector_place = place;
      before = entry.similarity;
    }
    entries_.resize(n);
  }
  // Returns the entry of a document, created if there is none. Valid until the next call.
  Candidate& at(uint32_t doc) {
    size_t slot = slot_of(doc);
    if (table_[slot] == 0) {
      entries_.emplace_back().doc = doc;
      if (2 * entries_.size() > table_size_) {
        fill_table();
        return entries_.back();
      }
      table_[slot] = static_cast<uint32_t>(entries_.size());
      n_in_table_ = entries_.size();
    }
    return entries_[table_[slot] - 1];
  }
  [[nodiscard]] Candidate* find(uint32_t doc) {
    const uint32_t entry = table_[slot_of(doc)];
    return entry == 0 ? nullptr : &entries_[entry - 1];
  }

  [[nodiscard]] std::span<Candidate> all() noexcept { return entries_; }
  [[nodiscard]] std::span<const Candidate> all() const noexcept { return entries_; }
  // The lexical ranking, best first, which is the first entries.
  [[nodiscard]] std::span<const Candidate> lexical() const noexcept { return {entries_.data(), n_lexical_}; }
  // The vector ranking, best first, as indices into all().
  [[nodiscard]] std::span<const uint32_t> by_vector_rank() const noexcept { return by_vector_rank_; }

 private:
  static constexpr size_t kNoTable = ~size_t{0};

  void add_vector(Candidate& entry, double similarity) {
    const Candidate* before = by_vector_rank_.empty() ? nullptr : &entries_[by_vector_rank_.back()];
    by_vector_rank_.push_back(static_cast<uint32_t>(&entry - entries_.data()));
    entry.vector_rank = static_cast<uint32_t>(by_vector_rank_.size());
    entry.similarity = similarity;
    entry.vector_place =
        before && before->similarity == similarity ? before->vector_place : entry.vector_rank;
  }
  [[nodiscard]] size_t slot_of(uint32_t doc) {
    if (n_in_table_ != entries_.size()) fill_table();
    size_t slot = static_cast<size_t>((doc * 0x9e3779b97f4a7c15ull) >> shift_);
    while (table_[slot] != 0 && entries_[table_[slot] - 1].doc != doc) slot = (slot + 1) & (table_size_ - 1);
    return slot;
  }
  void fill_table() {
    table_size_ = std::bit_ceil(4 * entries_.size() + 32);
    shift_ = 64 - static_cast<unsigned>(std::bit_width(table_size_) - 1);
    if (table_.size() < table_size_) table_.resize(table_size_);
    std::fill_n(table_.begin(), table_size_, 0u);
    n_in_table_ = entries_.size();
    for (size_t i = 0; i < entries_.size(); ++i)
      table_[slot_of(entries_[i].doc)] = static_cast<uint32_t>(i + 1);
  }

  std::vector<Candidate> entries_;
  std::vector<uint32_t> by_vector_rank_;
  size_t n_lexical_ = 0;
  std::vector<uint32_t> table_;  // open addressing; index + 1 into entries_; built on first use
  size_t table_size_ = 0, n_in_table_ = kNoTable;
  unsigned shift_ = 63;
};

}  // namespace scrubjay::fusion
