// The graph finds nearly all of the nearest vectors, and no hidden ones, from any number of threads.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "graph_clusters.hpp"
#include "storages.hpp"
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
    for (const Storage storage : kStorages) {
      const Clustered data(metric, storage);
      CHECK(data.recall(everything) >= 0.95);
    }
  }
  // Inner products are not a metric: the guarantee is weaker.
  CHECK(Clustered(Metric::inner_product, Storage::f16).recall(everything) >= 0.9);
  base::collect_retired();
}

TEST(graph_returns_only_what_is_visible) {
  const Clustered& data = cosine_f16();
  CHECK(data.recall([](uint32_t doc) { return doc % 2 == 0; }) >= 0.95);
  CHECK(data.recall([](uint32_t doc) { return doc >> 16 == 1; }) >= 0.9);
  std::vector<uint32_t> found;
  CHECK(search(*data.graph, data.queries[0], kWanted, 128, [](uint32_t) { return false; }, found));
  CHECK(found.empty());
}

TEST(graph_reports_the_rank_of_the_last_wanted_hit) {
  const Clustered& data = cosine_f16();
  const auto even = [](uint32_t doc) { return doc % 2 == 0; };
  for (const PreparedQuery& query : data.queries) {
    std::vector<uint32_t> all, found;
    (void)ask_graph(*data.graph, query, {kWanted, 128}, everything, all);
    const GraphAnswer answer = ask_graph(*data.graph, query, {kWanted, 128}, even, found);
    CHECK(answer.end == GraphAnswer::End::found);
    CHECK(answer.rank >= kWanted && answer.rank <= 128);
    CHECK_EQ(all[answer.rank - 1], found[kWanted - 1]);
    CHECK_EQ(std::count_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(answer.rank), even),
             kWanted);
  }
  std::vector<uint32_t> found;
  const GraphAnswer few = ask_graph(*data.graph, data.queries[0], {200, 128}, even, found);
  CHECK(few.end == GraphAnswer::End::found && few.rank > 128);
}

TEST(graph_gives_up_where_all_is_hidden_or_after_too_many_distances) {
  const Clustered& data = cosine_f16();
  size_t n_hidden = 0;
  for (const PreparedQuery& query : data.queries) {
    std::vector<uint32_t> near, found;
    (void)ask_graph(*data.graph, query, {kWanted, 128}, everything, near);
    const std::set<uint32_t> hidden(near.begin(), near.end());
    const auto shown = [&](uint32_t doc) { return !hidden.contains(doc); };
    GraphAsk ask{kWanted, 128};
    CHECK(ask_graph(*data.graph, query, ask, shown, found).end == GraphAnswer::End::found);
    ask.least_visible = 0.5;
    n_hidden += ask_graph(*data.graph, query, ask, shown, found).end == GraphAnswer::End::hidden;
    CHECK(ask_graph(*data.graph, query, ask, everything, found).end == GraphAnswer::End::found);
    ask.most_measured = 50;
    CHECK(ask_graph(*data.graph, query, ask, everything, found).end == GraphAnswer::End::too_long);
    CHECK(found.empty());
  }
  CHECK(n_hidden > data.queries.size() / 2);
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
  CHECK(search(*graph, data.queries[0], kWanted, 128, everything, found));
  CHECK_EQ(found.size(), kWanted);
  for (const uint32_t doc : found) CHECK_EQ(doc >> 16, 1);

  const auto empty = Graph::build({}, {}, {}, [] { return false; });
  found.clear();
  CHECK(search(*empty, data.queries[0], kWanted, 128, everything, found));
  CHECK(found.empty());
}

TEST(graph_build_is_deterministic_and_can_be_cancelled) {
  const Clustered& data = cosine_f16();
  const Clustered again(Metric::cosine, Storage::f16);
  for (size_t q = 0; q < data.queries.size(); ++q) {
    std::vector<uint32_t> first, second;
    CHECK(search(*data.graph, data.queries[q], kWanted, 64, everything, first));
    CHECK(search(*again.graph, data.queries[q], kWanted, 64, everything, second));
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
    CHECK(search(*data.graph, data.queries[q], kWanted, 64, everything, expected[q]));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 3 * expected.size(); ++i) {
        const size_t q = (i * 7 + t * 13) % expected.size();
        std::vector<uint32_t> found;
        CHECK(search(*data.graph, data.queries[q], kWanted, 64, everything, found));
        CHECK_EQ(found, expected[q]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(graph_takes_hits_to_be_as_similar_as_their_codes_say) {
  for (const Metric metric : {Metric::cosine, Metric::inner_product, Metric::l2}) {
    for (const uint32_t dim : {kDim, 96u}) {  // without and with codes
      const Clustered data(metric, Storage::f16, dim);
      CHECK_EQ(data.graph->coded(), dim != kDim);
      size_t n_hits = 0, n_above = 0;
      for (const PreparedQuery& query : data.queries) {
        std::vector<GraphHit> hits;
        (void)data.graph->search(query, {kWanted, 64}, everything, scratch(), hits);
        for (size_t i = 0; i < hits.size(); ++i) {
          if (i > 0) CHECK(hits[i].similarity <= hits[i - 1].similarity);
          const Column& column = *data.pointers[hits[i].doc >> 16];
          const float similarity = column.similarity(hits[i].doc & 0xffffu, query);
          if (dim == kDim)
            CHECK(std::abs(similarity - hits[i].similarity) <= 1e-4f * (1.0f + std::abs(similarity)));
          if (dim == kDim) continue;
          const float error = column.codes()->errors()[hits[i].doc & 0xffffu].value();
          n_above += similarity > hits[i].similarity + margin_for(1e-3) * query.code.length * error ? 1 : 0;
        }
        n_hits += hits.size();
      }
      CHECK(n_hits > 1000 && n_above * 200 <= n_hits);
    }
  }
}
