// Search scratch: buffers and state of a search that are reused by the next searches of the thread.
//
// Holds the snapshot of the visible chunks and the working data of the two arms
// (lexical_arm.hpp, vector_arm.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/errors.hpp"
#include "base/topk.hpp"
#include "engine/id_map.hpp"
#include "engine/identifier_tier.hpp"
#include "engine/longer_identifiers.hpp"
#include "engine/partition.hpp"
#include "engine/spelled_terms.hpp"
#include "filter/predicate.hpp"
#include "fusion/candidates.hpp"
#include "fusion/diversity.hpp"
#include "fusion/guarantee.hpp"
#include "fusion/score_parts.hpp"
#include "lexical/pruned.hpp"
#include "lexical/search.hpp"
#include "lexical/term_counts.hpp"
#include "text/analyzer.hpp"
#include "text/dates.hpp"
#include "text/foreign_function_words.hpp"
#include "text/function_words.hpp"
#include "text/spelling.hpp"
#include "vector/code_scan.hpp"
#include "vector/column.hpp"
#include "vector/graph.hpp"

namespace scrubjay::engine {

struct VisiblePartition {
  const Partition* partition;
  const PartitionGraph* graph;
  uint64_t version;      // of the state in the snapshot
  uint32_t first_chunk;  // index into chunks; the partition's chunks end at the next partition's first_chunk
};

// The live documents of a chunk that a filter admits.
struct Admitted {
  uint32_t n = 0;
  base::Bitmap hidden;  // the other documents: replaces the snapshot's bitmap of deleted documents
  bool listed = false;
  std::vector<uint16_t> list;  // offsets, ascending; made on first use
};

struct RankedCandidate {
  double score;
  uint32_t doc;
  uint32_t candidate;    // index into candidates
  uint32_t identifiers;  // number that it contains; 0: not in the tier
};

// A stored vector as a direction. Valid while the snapshot is.
struct Direction {
  const vector::Column* column = nullptr;  // null: no vector
  const char* row = nullptr;
  double per_length = 0.0;  // 1 / |row|
};

struct SearchScratch {
  bool in_use = false;
  text::Analyzer::Scratch analysis;
  std::vector<text::Token> tokens;
  lexical::TermCounter counter;
  std::vector<float> query;  // a copy of the caller's vector

  std::vector<ChunkSnapshot> chunks;  // the visible ones, in order
  std::vector<VisiblePartition> partitions;

  // With a filter: at least one per chunk; `dead` of the chunk snapshot is then its `hidden`.
  bool filtered = false;
  std::vector<Admitted> admitted;
  std::vector<base::Bitmap> members;  // of a set of ids; used like `admitted`
  filter::Evaluation evaluation;

  std::vector<text::SpelledWord> spelled_words;
  SpelledTerms spelled;

  std::vector<lexical::TermPostings> postings;        // chunk-major, one per chunk and term
  std::vector<lexical::TermPostings> given_postings;  // before spelling, for the original terms
  std::vector<lexical::TermPostings> new_postings;    // for the terms added by spelling, in one chunk
  std::vector<lexical::TermCount> new_terms;
  std::vector<lexical::ChunkPostings> chunk_postings;
  std::vector<uint64_t> dfs;
  std::vector<uint32_t> counts;
  text::FunctionWords function_words;
  text::ForeignFunctionWords foreign_words;
  text::Dates dates;                   // of the question
  std::vector<lexical::Worth> worths;  // per term; empty: all count in full
  lexical::Weighting weighting;
  lexical::PrunedSearch pruned;
  base::TopK lexical_best;

  base::TopK vector_best;
  vector::PreparedQuery vector_query;
  vector::CodeScanScratch code_scan;
  vector::GraphScratch graph;
  std::vector<vector::GraphHit> graph_hits;
  std::vector<const vector::Column*> graph_columns;
  std::vector<uint32_t> graph_docs, graph_scores, graph_ordered;

  std::vector<uint32_t> sampled;           // sample for the similarity spread that the fusion uses
  std::vector<uint32_t> reported_sampled;  // sample for the spread that the request asked for
  std::vector<uint32_t> unscored;          // indices of candidates with a score of one arm only
  std::vector<uint32_t> unscored_docs;
  std::vector<const vector::Column*> scored_columns;
  std::vector<uint32_t> scored_bits;
  std::vector<float> similarities;

  std::vector<uint32_t> lexical_docs, vector_docs;
  std::vector<std::vector<uint32_t>> extra_docs;

  fusion::Candidates candidates;
  fusion::Guarantee guarantee;
  std::vector<fusion::ScoreParts> parts;  // explain: per candidate
  QueryIdentifiers identifiers;
  LongerIdentifiers longer_identifiers;
  std::vector<uint32_t> pair_docs;  // documents with several identifiers
  std::vector<double> term_idfs;
  std::vector<RankedCandidate> ranked, ranked_before;
  std::vector<uint32_t> coarse, places, term_offsets, term_bits;
  std::vector<uint8_t> lexical_places;  // lexical rank of documents, from 1; zero between uses
  std::vector<double> coverages, relevances, boosts;
  std::vector<int64_t> times;
  std::vector<uint32_t> place_of_offset;       // open addressing: offset << 16 | place in `ranked`
  std::vector<const filter::Column*> columns;  // of one field, by chunk
  std::vector<uint64_t> entity_links;          // visible documents that name each entity of the request
  base::Bitmap naming;
  fusion::Diversity diversity;
  std::vector<Direction> directions;  // of the ranked documents, for marginal relevance
  std::vector<float> vector_read;

  [[nodiscard]] static SearchScratch& of_thread() {
    thread_local SearchScratch scratch;
    return scratch;
  }

  // Releases the memory that a huge query took.
  void trim() noexcept {
    analysis.trim(0);
    std::vector<text::Token>().swap(tokens);
    counter = lexical::TermCounter();
    std::vector<lexical::TermPostings>().swap(postings);
    std::vector<lexical::TermPostings>().swap(given_postings);
  }
  void start() {
    chunks.clear();
    partitions.clear();
    postings.clear();
    extra_docs.clear();
    filtered = false;
  }
  // Adds one visible partition in a consistent state; calls `collect`, which appends to postings, for each of
  // its chunks, possibly several times.
  template <class Collect>
  void add(const Partition& partition, Collect&& collect) {
    const size_t n_chunks = chunks.size(), n_postings = postings.size();
    partitions.push_back({&partition, nullptr, 0, static_cast<uint32_t>(n_chunks)});
    partition.read_consistently([&] {
      partitions.back().graph = partition.graph();
      partitions.back().version = partition.version();
      chunks.resize(n_chunks);
      postings.resize(n_postings);
      for (const ChunkRef& chunk : partition.chunks()) {
        chunks.push_back(chunk->snapshot());
        collect(*chunk.get(), chunks.back());
      }
    });
  }
  // Number of visible documents that the filter admits; without a filter all.
  [[nodiscard]] uint64_t n_admitted() const noexcept;
  // The offsets that the filter admits in chunk c.
  [[nodiscard]] std::span<const uint16_t> admitted_in(size_t c);

  // Counts the visible documents that name each entity; call before a filter hides any of them.
  void count_entity_links(std::span<const filter::Predicate> entities);

  // Locates in the snapshot of partition p the document that the id index has at `location`: `chunk << 16 |
  // offset` if it is there, admitted and has this id. (The location may be newer than the snapshot, or the
  // chunks may have been rewritten since.)
  [[nodiscard]] std::optional<uint32_t> find_visible(size_t p, const Id& id,
                                                     const std::optional<Location>& location) const noexcept;
  // New ids are entered in the id index before their documents are published, locations of replaced documents
  // are updated afterwards, and the ids of deleted documents are removed afterwards. The index is therefore
  // right and complete for the snapshot of a partition if ids_follow() held before the first lookup and
  // unchanged() holds after the last one.
  [[nodiscard]] bool ids_follow(size_t p) const noexcept { return !partitions[p].partition->ids_lag(); }
  [[nodiscard]] bool unchanged(size_t p) const noexcept {
    return partitions[p].partition->version() == partitions[p].version;
  }

  // The end of the chunks of partition p.
  [[nodiscard]] size_t end_of(size_t p) const noexcept {
    return p + 1 < partitions.size() ? partitions[p + 1].first_chunk : chunks.size();
  }
};

// Marks the scratch as in use: a stemmer that searches would otherwise overwrite the scratch of the search
// that called it.
class ScratchUse {
 public:
  explicit ScratchUse(SearchScratch& scratch) : scratch_(scratch) {
    if (scratch.in_use) throw base::Error("a stemmer may not search while a search or a write calls it");
    scratch.in_use = true;
  }
  ~ScratchUse() {
    scratch_.in_use = false;
    if (scratch_.tokens.capacity() > kUsualTokens) scratch_.trim();
  }
  ScratchUse(const ScratchUse&) = delete;
  ScratchUse& operator=(const ScratchUse&) = delete;

 private:
  static constexpr size_t kUsualTokens = size_t{1} << 14;

  SearchScratch& scratch_;
};

}  // namespace scrubjay::engine
