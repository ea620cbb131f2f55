// Clustered vectors, the graph over them, and the expected results.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "base/topk.hpp"
#include "check.hpp"
#include "vector/graph.hpp"
#include "vector/scan.hpp"

namespace clusters {

using namespace scrubjay::vector;
namespace base = scrubjay::base;

inline constexpr uint32_t kDim = 24;
inline constexpr size_t kWanted = 10;

inline bool everything(uint32_t) { return true; }

inline GraphScratch& scratch() {
  thread_local GraphScratch one;
  return one;
}

// The documents of the hits.
inline GraphAnswer ask_graph(const Graph& graph, const PreparedQuery& query, const GraphAsk& ask,
                             const std::function<bool(uint32_t)>& visible, std::vector<uint32_t>& found) {
  std::vector<GraphHit> hits;
  const GraphAnswer answer = graph.search(query, ask, visible, scratch(), hits);
  found.clear();
  for (const GraphHit& hit : hits) found.push_back(hit.doc);
  return answer;
}

// At most `wanted` results of a search. Returns whether it was completed.
inline bool search(const Graph& graph, const PreparedQuery& query, size_t wanted, size_t expansion,
                   const std::function<bool(uint32_t)>& visible, std::vector<uint32_t>& found) {
  const GraphAnswer answer = ask_graph(graph, query, {wanted, expansion}, visible, found);
  CHECK_EQ(answer.rank <= expansion, found.size() >= wanted);
  if (found.size() > wanted) found.resize(wanted);
  return answer.end == GraphAnswer::End::found;
}

// Points around centres, like embeddings of topics; three columns, some documents without a vector.
struct Clustered {
  std::vector<std::unique_ptr<Column>> columns;
  std::vector<const Column*> pointers;
  std::vector<uint32_t> n_docs{1100, 500, 400};
  std::vector<PreparedQuery> queries;
  std::unique_ptr<Graph> graph;

  explicit Clustered(Metric metric, Storage storage, uint32_t dim = kDim) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const auto point = [&](float scale) {
      std::vector<float> vector(dim);
      for (float& x : vector) x = scale * normal(random);
      return vector;
    };
    std::vector<std::vector<float>> centres;
    for (int i = 0; i < 30; ++i) centres.push_back(point(1.0f));
    const auto near_a_centre = [&] {
      std::vector<float> vector = point(0.3f);
      const std::vector<float>& centre = centres[random() % centres.size()];
      for (uint32_t i = 0; i < dim; ++i) vector[i] += centre[i];
      return vector;
    };
    for (const uint32_t n : n_docs) {
      columns.push_back(std::make_unique<Column>(ColumnOptions{dim, metric, storage}));
      for (uint32_t doc = 0; doc < n; ++doc) {
        if (doc % 10 != 3) columns.back()->append(doc, near_a_centre());
      }
      pointers.push_back(columns.back().get());
    }
    for (int q = 0; q < 100; ++q) {
      PreparedQuery& query = queries.emplace_back();
      prepare_query(columns[0]->options(), near_a_centre(), query);
      if (dim >= kLeastCodedDim)
        CHECK(prepare_code_query(columns[0]->options(), query.elements, query.square, query.code));
    }
    graph = Graph::build(pointers, n_docs, {}, [] { return false; });
  }

  [[nodiscard]] std::vector<uint32_t> nearest(const PreparedQuery& query,
                                              const std::function<bool(uint32_t)>& visible) const {
    base::TopK best;
    best.reset(1u << 20);
    for (uint32_t c = 0; c < columns.size(); ++c)
      scan_chunk({n_docs[c], nullptr, columns[c].get()}, c, 0, query, best);
    std::vector<uint32_t> docs;
    for (const uint64_t key : best.finish()) {
      if (docs.size() < kWanted && visible(base::key_doc(key))) docs.push_back(base::key_doc(key));
    }
    return docs;
  }
  [[nodiscard]] std::vector<std::vector<uint32_t>> found_by(const Graph& searched) const {
    std::vector<std::vector<uint32_t>> found(queries.size());
    for (size_t q = 0; q < queries.size(); ++q)
      CHECK(search(searched, queries[q], kWanted, 64, everything, found[q]));
    return found;
  }
  [[nodiscard]] double recall(const std::function<bool(uint32_t)>& visible, const Graph* of = nullptr) const {
    size_t n_found = 0, n_wanted = 0;
    for (const PreparedQuery& query : queries) {
      std::vector<uint32_t> found;
      CHECK(search(of ? *of : *graph, query, kWanted, 128, visible, found));
      CHECK(found.size() <= kWanted);
      CHECK_EQ(std::set<uint32_t>(found.begin(), found.end()).size(), found.size());
      for (const uint32_t doc : found) {
        CHECK(visible(doc));
        CHECK(columns[doc >> 16]->has(doc & 0xffffu));
      }
      for (const uint32_t doc : nearest(query, visible)) {
        ++n_wanted;
        n_found += static_cast<size_t>(std::count(found.begin(), found.end(), doc));
      }
    }
    return static_cast<double>(n_found) / static_cast<double>(n_wanted);
  }
};

}  // namespace clusters
