// Result: the result of a search.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chunk.hpp"
#include "fusion/score_parts.hpp"

namespace scrubjay::engine {

// The arms that actually ran.
enum class Mode : uint8_t { none, lexical, vector, hybrid, substring };

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Hit {
  double score = 0.0;
  double bm25 = kUnknown;
  double similarity = kUnknown;
  double coverage = kUnknown;
  double information = kUnknown;  // share of the query's information (SearchResult::information) in its terms
  uint32_t lexical_rank = 0;      // from 1; 0: not in that ranking
  uint32_t vector_rank = 0;
  uint32_t chunk = 0;  // index into SearchResult::chunks
  uint32_t offset = 0;
  bool identifier = false;  // in the identifier tier
  bool another = false;     // explain: lacks all of the query's identifiers with a digit
  // For a document with passages, if there was a query vector: where the nearest passage is in its text.
  vector::PassageSpan passage{};
};

// Work of the vector arm in a search, over all partitions and chunks.
struct VectorWork {
  uint64_t n_codes = 0;      // codes or signs compared: of all documents or of a filter's matches
  uint64_t n_originals = 0;  // originals compared
  uint64_t n_in_graphs = 0;  // vectors of the graphs that were searched
  uint64_t n_in_view = 0;    // sum of the ef of those searches
  uint64_t n_given_up = 0;   // abandoned graph searches, whose documents were scanned instead
  bool gathered = false;     // some chunk was scored match by match of the filter
};

// Distribution of the similarities between a query and the documents of its scope (similarity_spread.hpp).
struct SimilaritySpread {
  double mean = kUnknown;
  double deviation = kUnknown;
};

// Score parts of an arm that ran alone.
[[nodiscard]] inline fusion::ScoreParts part_of_one_arm(bool lexical, double score) noexcept {
  fusion::ScoreParts parts;
  (lexical ? parts.words : parts.meaning) = score;
  return parts;
}

// A word of the query that no visible document contains, and the known word that was searched instead.
struct Correction {
  std::string typed;  // as in the text
  std::string used;   // lower case
  size_t at;          // offset of `typed` in the text
};

// Owns references to the chunks of its hits, so texts can be read (under an epoch guard) as of the time of
// the search.
struct SearchResult {
  std::vector<Hit> hits;
  std::vector<ChunkRef> chunks;
  Mode mode = Mode::none;
  bool static_cosines = false;      // similarities are cosines of vectors made by the request's embedder
  bool nothing_embedded = false;    // the request's embedder found nothing to embed in the text
  double lexical_share = kUnknown;  // automatic fusion: weight of the lexical scores, 0..1
  SimilaritySpread spread;          // unknown unless requested, or explained without static_cosines
  double information = kUnknown;    // explain: total idf of the query's terms, in nats
  uint64_t n_admitted = 0;          // visible documents that the filter admits; without a filter all
  uint64_t last_write = 0;          // listing: write number of its last document; 0: empty
  bool lexical_gathered = false;    // some chunk was scored match by match of the filter
  VectorWork vector_work;
  std::vector<Correction> corrections;         // in the order of the text
  std::vector<std::string> terms;              // explain: the distinct query terms, in query order
  std::vector<std::vector<uint32_t>> matched;  // explain: per hit, indices into terms
  std::vector<fusion::ScoreParts> parts;       // explain: per hit, the parts of its score

  [[nodiscard]] const Chunk& chunk_of(const Hit& hit) const noexcept { return *chunks[hit.chunk].get(); }
};

// A document as of the time of its lookup.
struct StoredDocument {
  ChunkRef chunk;
  uint32_t offset = 0;
};

}  // namespace scrubjay::engine
