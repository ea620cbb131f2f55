// Result: what does a search hand back?
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

// Which arms really ran.
enum class Mode : uint8_t { none, lexical, vector, hybrid, substring };

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Hit {
  double score = 0.0;
  double bm25 = kUnknown;
  double similarity = kUnknown;
  double coverage = kUnknown;
  double information = kUnknown;  // share of the query's (SearchResult::information) in its terms
  uint32_t lexical_rank = 0;      // from 1; 0: not in that ranking
  uint32_t vector_rank = 0;
  uint32_t chunk = 0;  // index into SearchResult::chunks
  uint32_t offset = 0;
  bool identifier = false;  // in the identifier tier
  bool another = false;     // explain: the query names identifiers with a digit, and this holds none of them
  // Of a document with passages, if there was a vector to compare: where the nearest one is in its text.
  vector::PassageSpan passage{};
};

// What the vector arm of a search looked at, over all partitions and chunks.
struct VectorWork {
  uint64_t n_codes = 0;      // compared, or their signs: of all documents or of a filter's matches
  uint64_t n_originals = 0;  // compared
  uint64_t n_in_graphs = 0;  // vectors of the graphs that were searched
  uint64_t n_in_view = 0;    // kept in view by those searches
  uint64_t n_given_up = 0;   // searches of graphs that were given up: what they hold was scanned after all
  bool gathered = false;     // some chunk was gone through match by match of the filter
};

// Of the similarities between a query and the documents of its scope (similarity_spread.hpp).
struct SimilaritySpread {
  double mean = kUnknown;
  double deviation = kUnknown;
};

// What the score of an arm is made of that ran alone.
[[nodiscard]] inline fusion::ScoreParts part_of_one_arm(bool lexical, double score) noexcept {
  fusion::ScoreParts parts;
  (lexical ? parts.words : parts.meaning) = score;
  return parts;
}

// A word of the query that no visible document holds, and the known one that was searched for in its place.
struct Correction {
  std::string typed;  // as it stands in the text
  std::string used;   // in small letters
  size_t at;          // of typed, in the text
};

// Owns references to the chunks of its hits, so texts can be read (under an epoch guard) as they were when
// the search ran.
struct SearchResult {
  std::vector<Hit> hits;
  std::vector<ChunkRef> chunks;
  Mode mode = Mode::none;
  bool static_cosines = false;      // similarities are cosines, and the request's embedder made the vector
  bool nothing_embedded = false;    // the request's embedder found no direction in the text
  double lexical_share = kUnknown;  // fusion automatic: what the words weighed, 0..1
  SimilaritySpread spread;          // unknown unless the request asked for it, or for evidence
                                    // without static_cosines
  double information = kUnknown;    // explain: nats; the idf of all that the query's terms say
  uint64_t n_admitted = 0;          // visible documents that the filter admits; without one, all
  uint64_t last_write = 0;          // of a listing: the number of the last document's write; 0: it is empty
  bool lexical_gathered = false;    // some chunk was gone through match by match of the filter
  VectorWork vector_work;
  std::vector<Correction> corrections;         // in the order of the text
  std::vector<std::string> terms;              // explain: the distinct query terms, in query order
  std::vector<std::vector<uint32_t>> matched;  // explain: per hit, indices into terms
  std::vector<fusion::ScoreParts> parts;       // explain: per hit, of its score

  [[nodiscard]] const Chunk& chunk_of(const Hit& hit) const noexcept { return *chunks[hit.chunk].get(); }
};

// A document as it was when it was looked up.
struct StoredDocument {
  ChunkRef chunk;
  uint32_t offset = 0;
};

}  // namespace scrubjay::engine
