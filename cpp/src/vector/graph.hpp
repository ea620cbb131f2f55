// Graph: nearest vectors of a large partition without comparing all of them (HNSW).
//
// HNSW (Malkov and Yashunin 2018) by usearch's index_gt over the codes where they lie (over the rows where
// there are none): the graph holds neighbour lists and addresses, no copies. usearch builds it, then its
// lists are packed: a graph, once made, is only read; documents written since are scanned beside it until a
// longer one is made of its lists (extend()). What it returns is scored again from the stored originals, so
// similarities are exact and only the choice is approximate. Any number of threads may search.
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
  uint32_t connectivity = 20;      // M of the paper; twice as many on the ground level
  uint32_t expansion_build = 128;  // efConstruction
};

// What a search of a graph works in. Reuse one per thread to avoid allocation.
struct GraphScratch {
  std::vector<uint64_t> seen;      // a bit for each node
  std::vector<uint64_t> frontier;  // heap, nearest on top: nodes whose neighbours are to be looked at
  std::vector<uint64_t> found;     // heap, farthest on top: the nearest that are admitted
  std::vector<uint32_t> slots;     // those of one step
  std::vector<float> distances;
  std::vector<const uint8_t*> codes;
  std::vector<int32_t> dots;
};

// What is asked of a search of a graph.
struct GraphAsk {
  size_t wanted;     // visible documents
  size_t expansion;  // the paper's ef: higher finds more and takes longer
  // Given up where fewer than this share of what lies about the query is visible, and
  double least_visible = 0.0;
  size_t most_measured = ~size_t{0};  // where it would measure more distances than this.
};

struct GraphAnswer {
  enum class End : uint8_t { found, hidden, too_long, no_memory } end;
  // Rank of the k-th admitted node, hidden nodes included; greater than the expansion if fewer than k were
  // found.
  size_t rank = 0;
};

// A document that was found, and how similar the graph takes it to be: the estimate of its code, if the graph
// is coded.
struct GraphHit {
  uint32_t doc;
  float similarity;
};

class Graph {
 public:
  // Builds over the vectors of `columns` that `admits` (asked once for each, in order; null: all); document d
  // of column c has the number c << 16 | d. What is not admitted counts as covered all the same, so it must
  // never be wanted again. The columns must outlive the graph and their rows must not move (a chunk of 1,024
  // documents or more). `cancelled` is polled; if it returns true the build stops and returns null. Throws
  // std::bad_alloc. Deterministic. Pins the epoch for some hundred insertions at a time; the caller should
  // not hold an EpochGuard.
  [[nodiscard]] static std::unique_ptr<Graph> build(std::span<const Column* const> columns,
                                                    std::span<const uint32_t> n_docs,
                                                    const GraphOptions& options,
                                                    const std::function<bool()>& cancelled,
                                                    const std::function<bool(uint32_t)>& admits = nullptr);

  // A graph of what this one holds and of what came since: the same columns, longer, and perhaps more behind
  // them. Searches of this one may go on. As good as a new one, though not the same. Null: it
  // was cancelled, or cannot be, as the new vectors are of a kind that this graph cannot compare. What is
  // there takes about 0.3 us a vector to take over, inserting 100 to 200 us for each new one.
  [[nodiscard]] std::unique_ptr<Graph> extend(std::span<const Column* const> columns,
                                              std::span<const uint32_t> n_docs,
                                              const std::function<bool()>& cancelled,
                                              const std::function<bool(uint32_t)>& admits = nullptr) const;

  // For storage: the lists without the documents for which `renumbered` returns kGone, the others under the
  // numbers that it returns. n_covered is left to the caller. Nothing if all are gone.
  [[nodiscard]] GraphLinks links(const std::function<uint32_t(uint32_t)>& renumbered) const;
  // The graph of such lists over columns as for build(). Everything is verified: null if it does not hold
  // exactly the vectors that it covers, or has invalid links. Throws std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<Graph> restore(std::span<const Column* const> columns,
                                                      const GraphLinks& links, const GraphOptions& options);
  ~Graph();

  // Whether the distances are those of codes: then a search needs query.code prepared.
  [[nodiscard]] bool coded() const noexcept;

  // Leaves in `out` what was found and `visible` admits, best first by the graph's distance. Any number of
  // threads.
  [[nodiscard]] GraphAnswer search(const PreparedQuery& query, const GraphAsk& ask,
                                   const std::function<bool(uint32_t)>& visible, GraphScratch& scratch,
                                   std::vector<GraphHit>& out) const;

  // Documents of column c below this were considered when the graph was made.
  [[nodiscard]] uint32_t n_covered(size_t column) const noexcept;
  [[nodiscard]] size_t size() const noexcept;
  [[nodiscard]] size_t memory_bytes() const noexcept;
  // Searches go to and fro in that and in the vectors themselves: asks for huge pages for both
  // (base/huge_pages.hpp). Searches may go on. How many there are.
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
