// Graph: finds the nearest vectors of a large partition without comparing all of them (HNSW).
//
// HNSW (Malkov and Yashunin 2018) over the codes in place (over the rows if there are no codes): the graph
// holds neighbour lists and addresses, no copies. Vectors are inserted one after another, then the lists are
// packed: a finished graph is read-only; documents written later are scanned beside it until a longer graph
// is made from its lists (extend()). Results are scored again from the stored originals, so similarities are
// exact and only the selection is approximate. Any number of threads may search.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "vector/column.hpp"
#include "vector/graph_links.hpp"

namespace scrubjay::vector {

struct GraphOptions {
  uint32_t connectivity = 20;    // M of the paper; twice as many on the ground level
  uint32_t expansion_build = 0;  // efConstruction; 0: by the number of vectors
};

// The buffers of a graph search. Reuse one per thread to avoid allocation.
struct GraphScratch {
  std::vector<uint64_t> seen;        // one bit per node
  std::vector<uint32_t> seen_words;  // those of `seen` that are not zero
  std::vector<uint64_t> frontier;    // heap, nearest on top: nodes whose neighbours are still to be visited
  std::vector<uint64_t> found;       // heap, farthest on top: the nearest admitted nodes
  std::vector<uint32_t> slots;       // of the current step
  std::vector<float> distances;
  std::vector<const uint8_t*> codes;
  std::vector<int32_t> dots;
};

// Parameters of a graph search.
struct GraphAsk {
  size_t wanted;     // visible documents
  size_t expansion;  // the paper's ef: a higher value finds more and takes longer
  // Abandon the search if less than this share of the nodes near the query is visible,
  double least_visible = 0.0;
  // or if it computes more distances than this.
  size_t most_measured = ~size_t{0};
};

struct GraphAnswer {
  enum class End : uint8_t { found, hidden, too_long, no_memory } end;
  // Rank of the k-th admitted node, hidden nodes included; greater than the expansion if fewer than
  // k were found.
  size_t rank = 0;
};

// A document in the results, and its similarity as estimated by the graph (by its code, if the
// graph is coded).
struct GraphHit {
  uint32_t doc;
  float similarity;
};

class Graph {
 public:
  // Builds a graph over the vectors of `columns` that `admits` returns true for (called once for each, in
  // order; null: all); document d of column c has the number c << 16 | d. Documents that are not admitted
  // count as covered, so they must never be searched again. The columns must outlive the graph and their rows
  // must not move (a chunk of 1,024 documents or more). `cancelled` is polled; if it returns true the build
  // stops and returns null. Throws std::bad_alloc. Deterministic. Pins the epoch for some hundred insertions
  // at a time; the caller should not hold an EpochGuard.
  [[nodiscard]] static std::unique_ptr<Graph> build(std::span<const Column* const> columns,
                                                    std::span<const uint32_t> n_docs,
                                                    const GraphOptions& options,
                                                    const std::function<bool()>& cancelled,
                                                    const std::function<bool(uint32_t)>& admits = nullptr);

  // Returns a graph of the documents of this one and of later ones: the same columns, longer, and possibly
  // further columns. Searches of this graph may continue. Its quality equals that of a new graph, though it
  // is not identical. Returns null if it was cancelled, or if this graph cannot compare the new vectors.
  // Copying the existing lists takes about 0.3 us per vector, inserting 75 to 250 us per new vector.
  [[nodiscard]] std::unique_ptr<Graph> extend(std::span<const Column* const> columns,
                                              std::span<const uint32_t> n_docs,
                                              const std::function<bool()>& cancelled,
                                              const std::function<bool(uint32_t)>& admits = nullptr) const;

  // Returns the lists for storage, without the documents for which `renumbered` returns kGone, the others
  // under the numbers that it returns. n_covered is left to the caller. Empty if all documents are gone.
  [[nodiscard]] GraphLinks links(const std::function<uint32_t(uint32_t)>& renumbered) const;
  // Restores the graph of such lists over columns as for build(). Everything is verified: returns null if it
  // does not hold exactly the vectors that it covers, or has invalid links. Throws std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<Graph> restore(std::span<const Column* const> columns,
                                                      const GraphLinks& links, const GraphOptions& options);
  ~Graph();

  // Whether distances are computed from codes: then a search needs query.code prepared.
  [[nodiscard]] bool coded() const noexcept;

  // Stores in `out` the nodes found that `visible` admits, best first by the graph's distance. Thread-safe.
  [[nodiscard]] GraphAnswer search(const PreparedQuery& query, const GraphAsk& ask,
                                   const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                                   std::vector<GraphHit>& out) const;

  // Documents of column c below this number were considered when the graph was made.
  [[nodiscard]] uint32_t n_covered(size_t column) const noexcept;
  [[nodiscard]] size_t size() const noexcept;
  [[nodiscard]] size_t memory_bytes() const noexcept;
  // Requests huge pages for the graph and for the vectors, both of which searches access randomly
  // (base/huge_pages.hpp). Searches may continue. Returns the number of huge pages.
  size_t use_huge_pages(std::span<const Column* const> columns) const noexcept;

  struct State;  // private to the graph's files

 private:
  explicit Graph(std::unique_ptr<State> state);
  template <class Nodes, class Distance>
  [[nodiscard]] GraphAnswer search_by(const Nodes& nodes, const Distance& distance, const GraphAsk& ask,
                                      const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                                      std::vector<GraphHit>& out) const;
  std::unique_ptr<State> state_;
};

}  // namespace scrubjay::vector
