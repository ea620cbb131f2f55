// Pruned search: the same answer as search_exhaustively(), without adding up what cannot matter.
//
// MAXSCORE (Turtle and Flood 1995) over windows of documents. The k-th best score so far is a threshold that
// a document must exceed (documents ascend, so an equal score loses). Terms whose bounds together cannot
// exceed it may be non-essential in a window, and are if that is estimated to cost less than accumulating
// them: only documents that an essential term holds are candidates there, and the others' postings are looked
// up for those candidates alone, term after term, while they can still make it: in the ranked bitmap of a
// frequent term, by galloping in the list of another. In a window:
//   1. the essential terms' postings are added into an array of sums (a table per term gives a posting's
//   contribution);
//   2. the sums that can exceed the threshold with all the non-essential terms' help are taken out, all are
//   cleared;
//   3. the non-essential terms are added to these candidates, most promising term first.
// The first threshold comes from the rarest terms (pruned_seed.cpp), and then windows are as wide as the sums
// of what is added up stay in a near cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lexical/impact_tables.hpp"
#include "lexical/search.hpp"
#include "lexical/selection.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::lexical {

// Memory for searches; one per thread, reused, so that a search allocates nothing in the steady state.
class PrunedSearch {
 public:
  static constexpr uint32_t kWindow = 65536;

  // Tests make windows small to cross their borders often: a power of two, at least 16.
  explicit PrunedSearch(uint32_t window = kWindow, const simd::Kernels& kernels = simd::kernels());
  PrunedSearch(const PrunedSearch&) = delete;
  PrunedSearch& operator=(const PrunedSearch&) = delete;

  // As if search_exhaustively(query, best): the same best k, with the same keys. `best` holds nothing yet.
  void run(const Query& query, base::TopK& best);

  // The scores of some documents of a chunk, as score_document() has them, after run() of the same query: adds them to
  // scores[0, offsets.size()); the offsets are distinct. There is room for 16 more of both, and what stands there may be
  // overwritten. A short list is gone through as a whole, in a long one each document is looked up.
  void add_scores(const Query& query, uint32_t chunk, std::span<uint32_t> offsets, uint32_t* scores);

 private:
  // A query term in the chunk at hand.
  struct Cursor {
    const uint16_t* offsets;
    const uint16_t* payloads;
    const RankedBitmap* ranked;  // null: none
    uint32_t n;
    uint32_t begin;     // in the window at hand, of an essential term: its postings are [begin, position)
    uint32_t position;  // everything before it lies before the documents at hand
    uint32_t bound;     // no contribution in this chunk exceeds it
    uint32_t term;
  };
  // A term's contributions by payload, filled when a long enough list first wants it.
  struct Impacts {
    uint32_t* table = nullptr;             // null: not yet
    uint32_t max_tf = 0, last_length = 0;  // over all chunks
    Shortest shortest;
  };

  void prepare_impacts(const Query& query);
  void fill_table(const Query& query, const Cursor& cursor, Impacts& impacts);
  [[nodiscard]] static bool going_through_pays(const TermPostings& postings, size_t n_wanted) noexcept;
  void add_marked(const TermPostings& list, float weight, uint32_t count, const float* norms,
                  uint32_t* scores) const noexcept;
  void open_chunk(const Query& query, const ChunkPostings& chunk);
  void search_chunk(const Query& query, uint32_t chunk);
  struct Plan {
    size_t n_optional = 0;     // how many of the cursors are non-essential
    uint64_t n_essential = 0;  // postings of the others
  };
  [[nodiscard]] Plan choose_optional(size_t n_safe, uint32_t threshold, uint32_t n_docs) const;
  uint32_t accumulate(const Query& query, Cursor& cursor, uint32_t window_begin, uint32_t window_end,
                      uint32_t n_docs);
  static void prefetch(const Cursor& cursor, uint32_t begin, uint32_t end, uint32_t n_docs) noexcept;
  uint32_t seed_early(const Query& query, const ChunkPostings& postings, uint32_t begin, uint32_t end,
                      size_t& n_waiting);
  [[nodiscard]] size_t take_best_sums(size_t n_wanted, uint32_t begin, size_t n_sums,
                                      const base::Bitmap* dead);
  void seed_threshold(const ChunkPostings& postings, uint32_t begin, uint32_t end);
  void clear_dead(const base::Bitmap& dead, uint32_t begin, uint32_t end) noexcept;
  [[nodiscard]] size_t take_candidates(uint32_t begin, uint32_t end, uint32_t threshold);
  [[nodiscard]] size_t take_candidates_sparsely(size_t n_optional, uint32_t begin, uint32_t threshold);
  [[nodiscard]] size_t seed_from(size_t n);
  [[nodiscard]] size_t drop_dead(const base::Bitmap& dead, size_t n) noexcept;
  [[nodiscard]] size_t complete_candidates(const Query& query, size_t n_optional, uint32_t threshold,
                                           size_t n, uint32_t first, uint32_t last);

  const uint32_t window_;
  const simd::Kernels& kernels_;
  std::unique_ptr<uint32_t[]> sums_;   // one per document of the window; all zero between windows
  std::unique_ptr<uint16_t[]> marks_;  // by document: its place among a few from 1; all zero between uses
  Selection selection_;
  std::vector<Cursor> cursors_;       // ascending by bound
  std::vector<uint32_t> bound_sums_;  // of the cursors up to and including this one
  struct Moments {
    float mean = 0.0f, variance = 0.0f;
  };
  std::vector<Moments> moments_;  // of the sum of usual contributions of the cursors from this one on
  std::vector<Impacts> impacts_;
  ImpactTables tables_;
};

}  // namespace scrubjay::lexical
