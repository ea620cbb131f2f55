// Lexical search: the k visible documents that BM25 ranks highest.
//
// The input is a snapshot: the visible chunks in order, each with the postings of every query term.
// Documents are numbered `chunk ordinal << 16 | offset`, so a lower number is an earlier chunk, then
// an earlier document.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bitmap.hpp"
#include "base/topk.hpp"
#include "lexical/bm25.hpp"
#include "lexical/posting_table.hpp"

namespace scrubjay::lexical {

struct ChunkPostings {
  uint32_t n_docs;            // of the snapshot
  const base::Bitmap* dead;   // null: no document is deleted
  const TermPostings* terms;  // one per query term
  bool filtered = false;      // `dead` also holds the documents that a filter hides, possibly most of them
  bool gathered = false;      // only the documents `among` are scored; they ascend and are not deleted
  std::span<const uint16_t> among = {};
};

struct Query {
  std::span<const ChunkPostings> chunks;
  std::span<const uint32_t> counts;  // occurrences of each term in the query
  const Weighting* weighting;
};

// The reference: accumulates every posting of every chunk, then selects. Rank-safe by construction; the fast
// path must give the same keys. `best` was reset to k and receives base::candidate_key(score, document).
void search_exhaustively(const Query& query, base::TopK& best);

// The fixed-point score of one document, zero if it contains no query term. Cost: a binary search per term.
[[nodiscard]] uint32_t score_document(const Query& query, uint32_t chunk, uint32_t offset);

// Whether the postings contain a document; `position` receives its position.
[[nodiscard]] bool find_document(const TermPostings& postings, uint32_t offset, uint32_t& position) noexcept;

}  // namespace scrubjay::lexical
