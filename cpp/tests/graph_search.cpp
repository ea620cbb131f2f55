// Does the graph find nearly all of the nearest vectors, none that is hidden, from any number of threads?
#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "graph_clusters.hpp"
#include "vector/graph.hpp"

using namespace clusters;

namespace {

const Clustered& cosine_f16() {
  static const Clustered data(Metric::cosine, Storage::f16);
  return data;
}

}  // namespace

TEST(graph_finds_nearly_all_of_the_nearest) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    for (const Storage storage : {Storage::f16, Storage::f32}) {
      const Clustered data(metric, storage);
      CHECK(data.recall(everything) >= 0.95);
    }
  }
  // Inner products are no metric: what is promised is less.
  CHECK(Clustered(Metric::inner_product, Storage::f16).recall(everything) >= 0.9);
  base::collect_retired();
}

TEST(graph_returns_only_what_is_visible) {
  const Clustered& data = cosine_f16();
  CHECK(data.recall([](uint32_t doc) { return doc % 2 == 0; }) >= 0.95);
  CHECK(data.recall([](uint32_t doc) { return doc >> 16 == 1; }) >= 0.9);
  std::vector<uint32_t> found;
  CHECK(data.graph->search(data.queries[0], kWanted, 128, [](uint32_t) { return false; }, scratch(), found));
  CHECK(found.empty());
}

TEST(graph_knows_what_it_covers) {
  const Clustered& data = cosine_f16();
  for (size_t c = 0; c < 3; ++c) CHECK_EQ(data.graph->n_covered(c), data.n_docs[c]);
  CHECK_EQ(data.graph->n_covered(3), 0);
  size_t n_vectors = 0;
  for (uint32_t c = 0; c < 3; ++c) {
    for (uint32_t doc = 0; doc < data.n_docs[c]; ++doc) n_vectors += data.columns[c]->has(doc);
  }
  CHECK_EQ(data.graph->size(), n_vectors);
  CHECK(data.graph->memory_bytes() > n_vectors * 32);
}

TEST(graph_of_missing_columns_and_of_nothing) {
  const Clustered& data = cosine_f16();
  const std::vector<const Column*> columns{nullptr, data.pointers[1]};
  const std::vector<uint32_t> n_docs{300, 500};
  const auto graph = Graph::build(columns, n_docs, {}, [] { return false; });
  CHECK_EQ(graph->n_covered(0), 300);
  std::vector<uint32_t> found;
  CHECK(graph->search(data.queries[0], kWanted, 128, everything, scratch(), found));
  CHECK_EQ(found.size(), kWanted);
  for (const uint32_t doc : found) CHECK_EQ(doc >> 16, 1);

  const auto empty = Graph::build({}, {}, {}, [] { return false; });
  found.clear();
  CHECK(empty->search(data.queries[0], kWanted, 128, everything, scratch(), found));
  CHECK(found.empty());
}

TEST(graph_build_is_deterministic_and_can_be_cancelled) {
  const Clustered& data = cosine_f16();
  const Clustered again(Metric::cosine, Storage::f16);
  for (size_t q = 0; q < data.queries.size(); ++q) {
    std::vector<uint32_t> first, second;
    CHECK(data.graph->search(data.queries[q], kWanted, 64, everything, scratch(), first));
    CHECK(again.graph->search(data.queries[q], kWanted, 64, everything, scratch(), second));
    CHECK_EQ(first, second);
  }
  int n_asked = 0;
  CHECK(Graph::build(data.pointers, data.n_docs, {}, [&] { return ++n_asked == 3; }) == nullptr);
  CHECK_EQ(n_asked, 3);
}

TEST(graph_serves_many_threads) {
  const Clustered& data = cosine_f16();
  std::vector<std::vector<uint32_t>> expected(data.queries.size());
  for (size_t q = 0; q < expected.size(); ++q)
    CHECK(data.graph->search(data.queries[q], kWanted, 64, everything, scratch(), expected[q]));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 3 * expected.size(); ++i) {
        const size_t q = (i * 7 + t * 13) % expected.size();
        std::vector<uint32_t> found;
        CHECK(data.graph->search(data.queries[q], kWanted, 64, everything, scratch(), found));
        CHECK_EQ(found, expected[q]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
