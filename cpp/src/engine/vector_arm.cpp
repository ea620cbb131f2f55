#include "engine/vector_arm.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/growing.hpp"
#include "simd/kernels.hpp"
#include "vector/rescoring.hpp"
#include "vector/row_products.hpp"
#include "vector/scan.hpp"

namespace scrubjay::engine {

void VectorArm::rank(std::span<const float> vector, double length, const vector::ColumnOptions& options,
                     size_t candidates, double recall) {
  options_ = options;
  vector::prepare_query(options, vector, length, s_.vector_query);
  const bool exact = recall >= 1.0;
  codes_ = exact || plan_ == VectorPlan::rows || options.dim < vector::kLeastCodedDim ? Codes::refused
                                                                                      : Codes::unasked;
  margin_ = vector::margin_for((1.0 - recall) * planner::kScanMissShare);
  s_.vector_best.reset(candidates, base::sortable_float(0.03125f), base::sortable_float(1.0f));
  for (size_t p = 0; p < s_.partitions.size(); ++p) {
    const uint32_t first = s_.partitions[p].first_chunk;
    GraphChoice graph = recall < 1.0 ? graph_for(p, recall) : GraphChoice{};
    if (graph && !search_graph(graph, first, recall)) graph = {};
    for (size_t c = first; c < s_.end_of(p); ++c) {
      scan(c, graph ? graph->n_covered(c - first) : 0);
      if (const vector::Passages* passages = s_.chunks[c].chunk->passages()) scan_passages(c, *passages);
    }
  }
  keys_ = s_.vector_best.finish(simd::kernels().count_greater);
  s_.vector_docs.resize(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) s_.vector_docs[i] = base::key_doc(keys_[i]);
}

void VectorArm::announce(std::span<const uint32_t> docs) const noexcept {
  for (const uint32_t doc : docs) {
    const vector::Column* column = s_.chunks[doc >> 16].chunk->vectors();
    if (!column || column->size() * column->options().row_bytes() <= vector::kNearRowBytes) continue;
    if (column->has(doc & 0xffffu)) vector::announce_document(*column, doc & 0xffffu);
  }
}

// The graph of a partition, if it has one and searching it is cheaper than scanning.
VectorArm::GraphChoice VectorArm::graph_for(size_t p, double recall) const {
  const PartitionGraph* built = s_.partitions[p].graph;
  if (!built || plan_ == VectorPlan::rows || plan_ == VectorPlan::codes) return {};
  uint64_t n_docs = 0, n_visible = 0;
  for (size_t c = s_.partitions[p].first_chunk; c < s_.end_of(p); ++c) {
    if (built->graph->n_covered(c - s_.partitions[p].first_chunk) == 0) continue;
    n_docs += s_.chunks[c].n_docs;
    n_visible += s_.filtered ? s_.admitted[c].n : s_.chunks[c].n_live;
  }
  if (n_visible == 0) return {};
  const double share = static_cast<double>(n_visible) / static_cast<double>(n_docs);
  if (plan_ != VectorPlan::graph &&
      !planner::graph_repays(n_docs, share, built->scales, s_.filtered, s_.vector_best.k(), recall, options_))
    return {};
  return {built->graph.get(), share, built->scales};
}

void VectorArm::scan(size_t c, uint32_t first_doc) {
  const ChunkSnapshot& chunk = s_.chunks[c];
  const vector::Column* column = chunk.chunk->vectors();
  if (!column || first_doc >= chunk.n_docs) return;
  const vector::ChunkVectors vectors{chunk.n_docs, chunk.dead, column};
  const bool coded = codes_ != Codes::refused && column->codes();
  const size_t k = s_.vector_best.k();
  if (s_.filtered && first_doc == 0 && coded && plan_ != VectorPlan::rows &&
      planner::gathering_codes_repays(s_.admitted[c].n, chunk.n_docs, k, options_) && code_query_ready()) {
    work_.n_codes += s_.admitted[c].n;
    work_.n_originals += vector::gather_codes(vectors, static_cast<uint32_t>(c), s_.admitted_in(c),
                                              s_.vector_query, margin_, s_.code_scan, s_.vector_best);
    work_.gathered = true;
    return;
  }
  if (s_.filtered && first_doc == 0 && plan_ == VectorPlan::automatic &&
      planner::gathering_repays(s_.admitted[c].n, chunk.n_docs, k, coded, options_)) {
    vector::gather_chunk(vectors, static_cast<uint32_t>(c), s_.admitted_in(c), s_.vector_query,
                         s_.vector_best);
    work_.n_originals += s_.admitted[c].n;
    work_.gathered = true;
    return;
  }
  if (coded &&
      (plan_ != VectorPlan::automatic || planner::codes_repay(chunk.n_docs - first_doc, k, options_)) &&
      code_query_ready()) {
    work_.n_codes += chunk.n_docs - first_doc;
    work_.n_originals += vector::scan_codes(vectors, static_cast<uint32_t>(c), first_doc, s_.vector_query,
                                            margin_, s_.code_scan, s_.vector_best);
  } else {
    work_.n_originals += chunk.n_docs - first_doc;
    vector::scan_chunk(vectors, static_cast<uint32_t>(c), first_doc, s_.vector_query, s_.vector_best);
  }
}

// Documents with passages are in no graph.
void VectorArm::scan_passages(size_t c, const vector::Passages& passages) {
  any_passages_ = true;
  const vector::ChunkDocuments docs{s_.chunks[c].n_docs, s_.chunks[c].dead};
  const auto chunk = static_cast<uint32_t>(c);
  const uint32_t n_docs = s_.chunks[c].n_docs;
  const bool few = s_.filtered && uint64_t{s_.admitted[c].n} * planner::kFewOfPassages < n_docs;
  const bool coded = codes_ != Codes::refused && passages.rows().codes() && !few;
  if (coded &&
      (plan_ != VectorPlan::automatic ||
       planner::codes_repay(passages.rows().size(), s_.vector_best.k(), options_)) &&
      code_query_ready()) {
    work_.n_codes += passages.rows().size();
    work_.n_originals += vector::scan_passage_codes(passages, docs, chunk, s_.vector_query, margin_,
                                                    s_.code_scan, s_.vector_best);
  } else {
    work_.n_originals +=
        vector::scan_passages(passages, docs, chunk, s_.vector_query, s_.code_scan, s_.vector_best);
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

// Scores the results of the graph again from the originals. Returns false if the graph could not be searched
// or the search was abandoned.
bool VectorArm::search_graph(const GraphChoice& graph, uint32_t first, double recall) {
  if (graph->coded() && !code_query_ready()) return false;
  const auto visible = [&](uint32_t doc) {
    const ChunkSnapshot& chunk = s_.chunks[first + (doc >> 16)];
    return (doc & 0xffffu) < chunk.n_docs && !(chunk.dead && chunk.dead->test(doc & 0xffffu));
  };
  const size_t k = s_.vector_best.k();
  vector::GraphAsk ask{k, expansion_among(recall, k, graph.visible_share, graph.scales)};
  ask.least_visible = graph.visible_share < 1.0 ? planner::kLeastMet * graph.visible_share : 0.0;
  ask.most_measured = planner::most_measured(graph->size());
  s_.graph_hits.clear();
  const vector::GraphAnswer answer = graph->search(s_.vector_query, ask, visible, s_.graph, s_.graph_hits);
  if (answer.end != vector::GraphAnswer::End::found ||
      !far_enough(recall, answer.rank, ask.expansion, graph.scales)) {
    ++work_.n_given_up;
    return false;
  }
  work_.n_in_graphs += graph->size();
  work_.n_in_view += ask.expansion;
  look_at_hits(first);
  return true;
}

// Scores the originals of the hits that can be among the best according to their codes (codes.hpp); best
// first, so that soon few can. `first`: the partition's first chunk.
void VectorArm::look_at_hits(uint32_t first) {
  const std::vector<vector::GraphHit>& hits = s_.graph_hits;
  s_.graph_columns.clear();
  for (const vector::GraphHit& hit : hits) {
    while (s_.graph_columns.size() <= hit.doc >> 16)
      s_.graph_columns.push_back(s_.chunks[first + s_.graph_columns.size()].chunk->vectors());
  }
  const auto greatest_similarity = [&](const vector::GraphHit& hit) {
    const vector::Codes* codes = s_.graph_columns[hit.doc >> 16]->codes();
    if (!codes) return std::numeric_limits<float>::infinity();
    return hit.similarity +
           codes->errors()[hit.doc & 0xffffu].value() * margin_ * s_.vector_query.code.length;
  };
  const size_t k = s_.vector_best.k();
  s_.graph_scores.clear();
  // Twice as many each time, since the threshold improves.
  for (size_t next = 0, n_scored = 0, n_chosen = k + k / 4 + 4; next < hits.size(); n_chosen *= 2) {
    const uint64_t threshold = s_.vector_best.threshold();
    const float least = threshold == 0 ? -std::numeric_limits<float>::infinity()
                                       : base::unsortable_float(base::key_score(threshold + 1));
    s_.graph_docs.clear();
    for (; next < hits.size() && s_.graph_docs.size() < n_chosen; ++next) {
      if (greatest_similarity(hits[next]) >= least) s_.graph_docs.push_back(hits[next].doc);
    }
    const size_t n = s_.graph_docs.size();
    s_.graph_scores.resize(n_scored + n);
    uint32_t* scores = s_.graph_scores.data() + n_scored;
    vector::score_documents(s_.graph_columns, s_.graph_docs.data(), n, s_.vector_query, scores);
    for (size_t i = 0; i < n; ++i)
      s_.vector_best.push(base::candidate_key(scores[i], (first << 16) + s_.graph_docs[i]));
    n_scored += n;
    work_.n_originals += n;
    if (n_scored < k || next == hits.size()) continue;
    s_.graph_ordered = s_.graph_scores;
    std::nth_element(s_.graph_ordered.begin(), s_.graph_ordered.begin() + static_cast<ptrdiff_t>(k - 1),
                     s_.graph_ordered.end(), std::greater<>());
    s_.vector_best.raise_threshold(s_.graph_ordered[k - 1]);
  }
}

double VectorArm::similarity(uint32_t chunk, uint32_t offset) const {
  const vector::Column* column = s_.chunks[chunk].chunk->vectors();
  if (column && column->has(offset)) return static_cast<double>(column->similarity(offset, s_.vector_query));
  const vector::Passages* passages = s_.chunks[chunk].chunk->passages();
  const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr;
  return entry ? static_cast<double>(passages->nearest(*entry, s_.vector_query).similarity) : kUnknown;
}

vector::PassageSpan VectorArm::nearest_span(uint32_t chunk, uint32_t offset) const {
  const vector::Passages* passages = s_.chunks[chunk].chunk->passages();
  const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr;
  return entry ? passages->span(passages->nearest(*entry, s_.vector_query).row) : vector::PassageSpan{};
}

void VectorArm::similarities(std::span<const uint32_t> docs, std::vector<float>& out) const {
  s_.scored_bits.resize(docs.size());
  out.resize(docs.size());
  if (docs.empty()) return;
  if (any_passages_) {
    for (size_t i = 0; i < docs.size(); ++i)
      out[i] = static_cast<float>(similarity(docs[i] >> 16, docs[i] & 0xffffu)) + 0.0f;
    return;
  }
  if (s_.chunks.size() == 1) {  // its documents are numbered by their offsets
    vector::score_documents(*s_.chunks[0].chunk->vectors(), docs.data(), docs.size(), s_.vector_query,
                            s_.scored_bits.data());
  } else {
    s_.scored_columns.clear();
    for (const ChunkSnapshot& chunk : s_.chunks) s_.scored_columns.push_back(chunk.chunk->vectors());
    vector::score_documents(s_.scored_columns, docs.data(), docs.size(), s_.vector_query,
                            s_.scored_bits.data());
  }
  for (size_t i = 0; i < docs.size(); ++i) out[i] = base::unsortable_float(s_.scored_bits[i]);
}

// For a document with passages: the direction of the passage by which it was found.
Direction VectorArm::direction(uint32_t doc) {
  const Chunk& chunk = *s_.chunks[doc >> 16].chunk;
  const vector::Column* column = chunk.vectors();
  uint32_t offset = doc & 0xffffu;
  if (!column || !column->has(offset)) {
    const vector::Passages* passages = chunk.passages();
    const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr;
    if (!entry) return {};
    column = &passages->rows();
    offset = any_passages_ ? passages->nearest(*entry, s_.vector_query).row : entry->first;
  }
  const char* row = column->rows().row(offset);
  if (column->options().metric == vector::Metric::cosine)
    return {column, row, static_cast<double>(column->scales()[offset].factor)};
  s_.vector_read.resize(column->options().dim);
  column->read(offset, s_.vector_read);
  return {column, row, static_cast<double>(column->scales()[offset].scale) / vector::norm(s_.vector_read)};
}

void VectorArm::prefetch(const Direction& direction) noexcept {
  if (!direction.column) return;
  for (size_t byte = 0; byte < direction.column->options().row_bytes(); byte += base::kCacheLineBytes)
    __builtin_prefetch(direction.row + byte);
}

double VectorArm::greatest_cosine(uint32_t i, std::span<const uint32_t> others) {
  const Direction& direction = s_.directions[i];
  if (!direction.column) return 0.0;
  const vector::ColumnOptions& options = direction.column->options();
  const size_t n = options.padded_dim();
  s_.vector_read.resize(n);
  vector::widen_row(options.storage, direction.row, n, s_.vector_read.data());  // once for all comparisons
  double greatest = 0.0;
  for (const uint32_t other : others) {
    const Direction& another = s_.directions[other];
    if (!another.column) continue;
    float dot = 0.0f;
    vector::dot_rows(options.storage, another.row, 1, n, s_.vector_read.data(), &dot);
    greatest = std::max(greatest, static_cast<double>(dot) * (direction.per_length * another.per_length));
  }
  return greatest;
}

}  // namespace scrubjay::engine
