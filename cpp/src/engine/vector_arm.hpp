// Vector arm of a search: finds the nearest visible documents, and chooses the strategy.
#pragma once

#include <cstdint>
#include <span>

#include "engine/planner.hpp"
#include "engine/result.hpp"
#include "engine/search_scratch.hpp"
#include "vector/column.hpp"
#include "vector/graph.hpp"

namespace scrubjay::engine {

class VectorArm {
 public:
  VectorArm(SearchScratch& scratch, VectorPlan plan) noexcept : s_(scratch), plan_(plan) {}

  // Hint before rank(): similarities of these visible documents will be requested, whatever their rank.
  void announce(std::span<const uint32_t> docs) const noexcept;

  // Fills scratch.vector_docs, best first. `recall` is the requested share of the true nearest; 1: exact.
  void rank(std::span<const float> vector, double length, const vector::ColumnOptions& options,
            size_t candidates, double recall);

  [[nodiscard]] const VectorWork& work() const noexcept { return work_; }
  // Similarity of the document at `rank`, from 1.
  [[nodiscard]] double similarity_at(uint32_t rank) const {
    return static_cast<double>(base::unsortable_float(base::key_score(keys_[rank - 1])));
  }
  // Similarity of any visible document; NaN if it has no vector. Call after rank().
  [[nodiscard]] double similarity(uint32_t chunk, uint32_t offset) const;

  // Whether any ranked chunk has documents with passages. False before rank().
  [[nodiscard]] bool any_passages() const noexcept { return any_passages_; }
  // Span of the nearest passage of a visible document; 0, 0 if it has no passages. Call after rank().
  [[nodiscard]] vector::PassageSpan nearest_span(uint32_t chunk, uint32_t offset) const;

  // Similarities of several documents, all of which have a vector, into `out`.
  void similarities(std::span<const uint32_t> docs, std::vector<float>& out) const;

  // Direction of a document's vector for marginal relevance, with any metric.
  [[nodiscard]] Direction direction(uint32_t doc);
  static void prefetch(const Direction& direction) noexcept;
  // Greatest cosine between scratch.directions[i] and some others of them; at least 0, which is also the
  // cosine of a document without a vector.
  [[nodiscard]] double greatest_cosine(uint32_t i, std::span<const uint32_t> others);

 private:
  void scan(size_t chunk, uint32_t first_doc);
  void scan_passages(size_t chunk, const vector::Passages& passages);
  [[nodiscard]] bool code_query_ready();
  // A graph to search, and the share of its documents that may be returned.
  struct GraphChoice {
    const vector::Graph* graph = nullptr;
    double visible_share = 1.0;
    ExpansionScales scales;
    explicit operator bool() const noexcept { return graph != nullptr; }
    const vector::Graph* operator->() const noexcept { return graph; }
  };

  [[nodiscard]] GraphChoice graph_for(size_t partition, double recall) const;
  [[nodiscard]] bool search_graph(const GraphChoice& graph, uint32_t first, double recall);
  void look_at_hits(uint32_t first);

  SearchScratch& s_;
  const VectorPlan plan_;
  vector::ColumnOptions options_;
  // Whether codes may select candidates; the query for codes is prepared on first use.
  enum class Codes : uint8_t { unasked, ready, refused } codes_ = Codes::refused;
  float margin_ = 0.0f;  // of the codes' bounds
  VectorWork work_;
  bool any_passages_ = false;
  std::span<const uint64_t> keys_;  // best first
};

}  // namespace scrubjay::engine
