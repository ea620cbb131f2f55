// Pruned search: the same result as search_exhaustively(), without accumulating postings that cannot matter.
//
// MAXSCORE (Turtle and Flood 1995) over windows of documents. The k-th best score so far is a threshold that
// a document must exceed (documents ascend, so an equal score loses). Terms whose bounds together cannot
// exceed it may be non-essential in a window, and are if that is estimated to be cheaper than accumulating
// them: only documents of an essential term are candidates there, and the postings of the other terms are
// looked up for these candidates alone, term by term, while a candidate can still exceed the threshold: in
// the ranked bitmap of a frequent term, by galloping in the list of another. In a window:
//   1. accumulate the essential terms' postings into an array of sums (a table per term maps a posting to its
//      contribution);
//   2. collect the sums that can exceed the threshold together with all non-essential terms, and clear the
//      array;
//   3. add the non-essential terms to these candidates, the most promising term first.
// The first threshold comes from the rarest terms (pruned_seed.cpp); afterwards windows are as wide as the
// sums fit into a near cache.
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

// Holds the memory of searches; one per thread, reused, so that a search allocates nothing in
// the steady state.
class PrunedSearch {
 public:
  static constexpr uint32_t kWindow = 65536;

  // For tests, which make windows small to cross their borders often: a power of two, at least 16.
  explicit PrunedSearch(uint32_t window = kWindow, const simd::Kernels& kernels = simd::kernels());
  PrunedSearch(const PrunedSearch&) = delete;
  PrunedSearch& operator=(const PrunedSearch&) = delete;

  // Same as search_exhaustively(query, best): the same best k with the same keys. `best` must be empty.
  void run(const Query& query, base::TopK& best);

  // Adds the scores of some documents of a chunk, as computed by score_document(), to scores[0,
  // offsets.size()); call after run() of the same query. The offsets are distinct. Both arrays have room for
  // 16 more elements, which may be overwritten. A short list is scanned as a whole, in a long one each
  // document is looked up.
  void add_scores(const Query& query, uint32_t chunk, std::span<uint32_t> offsets, uint32_t* scores);

 private:
  // A query term in the current chunk.
  struct Cursor {
    const uint16_t* offsets;
    const uint16_t* payloads;
    const RankedBitmap* ranked;  // null: none
    uint32_t n;
    uint32_t begin;     // for an essential term in the current window: its postings are [begin, position)
    uint32_t position;  // all earlier postings are of documents before the current ones
    uint32_t bound;     // upper bound on the contributions in this chunk
    uint32_t term;
  };
  // A term's contributions by payload, filled when the first list that is long enough needs them.
  struct Impacts {
    uint32_t* table = nullptr;             // null: not filled yet
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
    size_t n_optional = 0;     // number of non-essential cursors
    uint64_t n_essential = 0;  // postings of the essential ones
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
  std::unique_ptr<uint16_t[]> marks_;  // by document: its index among a few, from 1; all zero between uses
  Selection selection_;
  std::vector<Cursor> cursors_;       // ascending by bound
  std::vector<uint32_t> bound_sums_;  // sums of the bounds up to and including each cursor
  struct Moments {
    float mean = 0.0f, variance = 0.0f;
  };
  std::vector<Moments> moments_;  // of the sum of typical contributions from each cursor on
  std::vector<Impacts> impacts_;
  ImpactTables tables_;
};

}  // namespace scrubjay::lexical
