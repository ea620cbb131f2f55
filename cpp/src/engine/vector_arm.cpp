#include "engine/vector_arm.hpp"

#include <algorithm>

#include "engine/planner.hpp"
#include "engine/result.hpp"
#include "vector/scan.hpp"

namespace scrubjay::engine {

void VectorArm::rank(std::span<const float> vector, const vector::ColumnOptions& options, size_t candidates,
                     double recall) {
  options_ = options;
  vector::prepare_query(options, vector, s_.vector_query);
  const bool exact = recall >= 1.0;
  codes_ = exact || options.dim < vector::kLeastCodedDim ? Codes::refused : Codes::unasked;
  margin_ = vector::margin_for((1.0 - recall) * planner::kScanMissShare);
  s_.vector_best.reset(candidates, base::sortable_float(0.03125f), base::sortable_float(1.0f));
  for (size_t p = 0; p < s_.partitions.size(); ++p) {
    const PartitionGraph* built = s_.partitions[p].graph;
    const vector::Graph* graph = exact || !built ? nullptr : built->graph.get();
    const uint32_t first = s_.partitions[p].first_chunk;
    if (graph && !search_graph(*graph, first, candidates)) graph = nullptr;
    for (size_t c = first; c < s_.end_of(p); ++c) scan(c, graph ? graph->n_covered(c - first) : 0);
  }
  keys_ = s_.vector_best.finish();
  for (const uint64_t key : keys_) s_.vector_docs.push_back(base::key_doc(key));
}

void VectorArm::scan(size_t c, uint32_t first_doc) {
  const ChunkSnapshot& chunk = s_.chunks[c];
  const vector::Column* column = chunk.chunk->vectors();
  if (!column || first_doc >= chunk.n_docs) return;
  const vector::ChunkVectors vectors{chunk.n_docs, chunk.dead, column};
  if (codes_ != Codes::refused && column->codes() &&
      planner::codes_repay(chunk.n_docs - first_doc, s_.vector_best.k(), column->options()) &&
      code_query_ready()) {
    vector::scan_codes(vectors, static_cast<uint32_t>(c), first_doc, s_.vector_query, margin_, s_.code_scan,
                       s_.vector_best);
  } else {
    vector::scan_chunk(vectors, static_cast<uint32_t>(c), first_doc, s_.vector_query, s_.vector_best);
  }
}

bool VectorArm::code_query_ready() {
  if (codes_ == Codes::unasked) {
    codes_ = vector::prepare_code_query(options_, s_.vector_query.elements, s_.vector_query.square,
                                        s_.vector_query.code)
                 ? Codes::ready
                 : Codes::refused;
  }
  return codes_ == Codes::ready;
}

// What the graph finds is scored again from the originals. False: the graph could not be asked.
bool VectorArm::search_graph(const vector::Graph& graph, uint32_t first_chunk, size_t candidates) {
  constexpr size_t kLeastExpansion = 128;
  const auto visible = [&](uint32_t doc) {
    const ChunkSnapshot& chunk = s_.chunks[first_chunk + (doc >> 16)];
    return (doc & 0xffffu) < chunk.n_docs && !(chunk.dead && chunk.dead->test(doc & 0xffffu));
  };
  s_.graph_docs.clear();
  if (!graph.search(s_.vector_query, candidates, std::max(kLeastExpansion, 2 * candidates), visible,
                    s_.graph_docs))
    return false;
  for (const uint32_t doc : s_.graph_docs) {
    const uint32_t chunk = first_chunk + (doc >> 16);
    const float similarity = s_.chunks[chunk].chunk->vectors()->similarity(doc & 0xffffu, s_.vector_query);
    s_.vector_best.push(
        base::candidate_key(base::sortable_float(similarity), (chunk << 16) | (doc & 0xffffu)));
  }
  return true;
}

double VectorArm::similarity(uint32_t chunk, uint32_t offset) const {
  const vector::Column* column = s_.chunks[chunk].chunk->vectors();
  if (!column || !column->has(offset)) return kUnknown;
  return static_cast<double>(column->similarity(offset, s_.vector_query));
}

}  // namespace scrubjay::engine
