// An extended graph is as good as one built at once, and the original graph is unchanged.
#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "graph_clusters.hpp"
#include "vector/graph.hpp"

using namespace clusters;

namespace {

constexpr uint32_t kCodedDim = 100;

const std::function<bool()> kGoOn = [] { return false; };

// One step of growth: the number of documents of each column.
std::unique_ptr<Graph> grown_by(const Clustered& data, const std::vector<std::vector<uint32_t>>& steps) {
  std::unique_ptr<Graph> graph;
  for (const std::vector<uint32_t>& n_docs : steps) {
    std::vector<const Column*> columns = data.pointers;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (n_docs[c] == 0) columns[c] = nullptr;
    }
    graph = graph ? graph->extend(columns, n_docs, kGoOn) : Graph::build(columns, n_docs, {}, kGoOn);
    CHECK(graph != nullptr);
    for (size_t c = 0; c < n_docs.size(); ++c) CHECK_EQ(graph->n_covered(c), n_docs[c]);
  }
  return graph;
}

}  // namespace

TEST(graph_extended_in_the_same_steps_is_the_same_and_as_good_as_one_built_at_once) {
  for (const uint32_t dim : {kDim, kCodedDim}) {
    for (const Metric metric : {Metric::cosine, Metric::inner_product, Metric::l2}) {
      const Clustered data(metric, Storage::f16, dim);
      CHECK_EQ(data.graph->coded(), dim == kCodedDim);
      const std::vector<std::vector<uint32_t>> steps{
          {1, 0, 0}, {700, 0, 0}, {1100, 0, 0}, {1100, 500, 0}, data.n_docs};
      const auto graph = grown_by(data, steps);
      CHECK_EQ(graph->coded(), data.graph->coded());
      CHECK_EQ(graph->size(), data.graph->size());
      CHECK_EQ(data.found_by(*graph), data.found_by(*grown_by(data, steps)));
      CHECK(data.recall(everything, graph.get()) >= data.recall(everything) - 0.01);
    }
  }
}

TEST(graph_extended_in_any_order_is_as_good_as_one_built_at_once) {
  for (const uint32_t dim : {kDim, kCodedDim}) {
    const Clustered data(Metric::cosine, Storage::f16, dim);
    std::vector<std::vector<uint32_t>> steps;
    for (uint32_t i = 1; i <= 20; ++i) steps.push_back({55 * i, 25 * i, 20 * i});
    CHECK_EQ(steps.back(), data.n_docs);
    const auto graph = grown_by(data, steps);
    CHECK_EQ(graph->size(), data.graph->size());
    CHECK(graph->memory_bytes() < data.graph->memory_bytes() * 11 / 10);
    for (const auto& visible :
         std::vector<std::function<bool(uint32_t)>>{everything, [](uint32_t doc) { return doc % 2 == 0; }}) {
      CHECK(data.recall(visible, graph.get()) >= data.recall(visible) - 0.01);
    }
  }
}

TEST(graph_leaves_out_what_is_not_admitted) {
  const Clustered data(Metric::cosine, Storage::f16);
  const auto admits = [](uint32_t doc) { return doc % 3 != 0; };
  const std::vector<uint32_t> half{1100, 200, 0};
  const auto part = Graph::build(data.pointers, half, {}, kGoOn, admits);
  const auto whole = part->extend(data.pointers, data.n_docs, kGoOn, admits);
  size_t n_admitted = 0;
  for (uint32_t c = 0; c < 3; ++c) {
    for (uint32_t doc = 0; doc < data.n_docs[c]; ++doc)
      n_admitted += data.columns[c]->has(doc) && admits(c << 16 | doc);
  }
  CHECK_EQ(whole->size(), n_admitted);
  for (const std::vector<uint32_t>& found : data.found_by(*whole)) {
    CHECK_EQ(found.size(), kWanted);
    for (const uint32_t doc : found) CHECK(admits(doc));
  }
  CHECK(data.recall(admits, whole.get()) >= 0.95);
}

TEST(graph_extension_can_be_refused_and_cancelled) {
  const Clustered data(Metric::cosine, Storage::f16);
  CHECK(Graph::build({}, {}, {}, kGoOn)->extend(data.pointers, data.n_docs, kGoOn) == nullptr);
  const auto part = grown_by(data, {{1100, 0, 0}});
  int n_asked = 0;
  CHECK(part->extend(data.pointers, data.n_docs, [&] { return ++n_asked == 2; }) == nullptr);
  CHECK_EQ(n_asked, 2);
  const auto longer = part->extend(data.pointers, std::vector<uint32_t>{1100, 0, 0}, kGoOn);  // by nothing
  CHECK_EQ(longer->size(), part->size());
  CHECK_EQ(data.found_by(*longer), data.found_by(*part));

  // A vector so short that its code cannot be compared: a coded graph cannot take it in, rows can.
  Column column({kCodedDim, Metric::l2, Storage::f32});
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (uint32_t doc = 0; doc < 200; ++doc) {
    std::vector<float> vector(kCodedDim);
    for (float& x : vector) x = normal(random) * (doc == 150 ? 1e-20f : 1.0f);
    column.append(doc, vector);
  }
  const std::vector<const Column*> columns{&column};
  const auto coded = Graph::build(columns, std::vector<uint32_t>{150}, {}, kGoOn);
  CHECK(coded->coded());
  CHECK(coded->extend(columns, std::vector<uint32_t>{200}, kGoOn) == nullptr);
  const auto rows = Graph::build(columns, std::vector<uint32_t>{160}, {}, kGoOn);
  CHECK(!rows->coded());
  CHECK_EQ(rows->extend(columns, std::vector<uint32_t>{200}, kGoOn)->size(), 200);
}

TEST(graph_serves_while_it_is_extended) {
  const Clustered data(Metric::cosine, Storage::f16, kCodedDim);
  const auto part = grown_by(data, {{1100, 100, 0}});
  const std::vector<std::vector<uint32_t>> expected = data.found_by(*part);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (size_t t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      for (size_t i = t; !done.load(); ++i) {
        const size_t q = i % expected.size();
        std::vector<uint32_t> found;
        CHECK(search(*part, data.queries[q], kWanted, 64, everything, found));
        CHECK_EQ(found, expected[q]);
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    const auto whole = part->extend(data.pointers, data.n_docs, kGoOn);
    CHECK_EQ(whole->size(), data.graph->size());
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  CHECK_EQ(data.found_by(*part), expected);
}
