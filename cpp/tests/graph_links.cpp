// A stored graph is restored unchanged, and invalid graphs are rejected.
#include "vector/graph_links.hpp"

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "check.hpp"
#include "graph_clusters.hpp"
#include "vector/graph.hpp"

using namespace clusters;

namespace {

constexpr uint32_t kCodedDim = 100;

GraphLinks kept(const Clustered& data) {
  GraphLinks links = data.graph->links([](uint32_t doc) { return doc; });
  links.n_covered = data.n_docs;
  return links;
}

const Clustered& cosine_f16() {
  static const Clustered data(Metric::cosine, Storage::f16);
  return data;
}

}  // namespace

TEST(saved_graph_links_restore_the_same_graph) {
  for (const uint32_t dim : {kDim, kCodedDim}) {
    const Clustered data(Metric::cosine, Storage::f16, dim);
    const GraphLinks links = kept(data);
    const auto graph = Graph::restore(data.pointers, links, {});
    CHECK(graph != nullptr);
    CHECK_EQ(graph->coded(), data.graph->coded());
    CHECK_EQ(graph->size(), data.graph->size());
    for (size_t c = 0; c < 3; ++c) CHECK_EQ(graph->n_covered(c), data.n_docs[c]);
    CHECK_EQ(data.found_by(*graph), data.found_by(*data.graph));
    const GraphLinks again = graph->links([](uint32_t doc) { return doc; });
    CHECK_EQ(again.links, links.links);
    CHECK_EQ(again.list_sizes, links.list_sizes);
    CHECK_EQ(again.entry, links.entry);
  }
}

TEST(restored_graph_can_be_extended) {
  const Clustered data(Metric::cosine, Storage::f16);
  const std::vector<uint32_t> half{1100, 100, 0};
  const std::vector<const Column*> columns{data.pointers[0], data.pointers[1], nullptr};
  GraphLinks links =
      Graph::build(columns, half, {}, [] { return false; })->links([](uint32_t doc) { return doc; });
  links.n_covered = half;
  const auto part = Graph::restore(columns, links, {});
  CHECK(part != nullptr);
  const auto whole = part->extend(data.pointers, data.n_docs, [] { return false; });
  CHECK_EQ(whole->size(), data.graph->size());
  CHECK(data.recall(everything, whole.get()) >= data.recall(everything) - 0.01);
}

// A quarter is deleted, random documents or whole neighbourhoods; at more than that a graph is rebuilt.
TEST(graph_cleared_of_deleted_documents_is_nearly_as_good_as_one_built_anew) {
  const Clustered& data = cosine_f16();
  for (const bool neighbourhoods : {false, true}) {
    std::vector<std::vector<bool>> gone;
    std::mt19937 random(5);
    for (const uint32_t n : data.n_docs) {
      gone.emplace_back(n);
      for (uint32_t doc = 0; doc < n && !neighbourhoods; ++doc) gone.back()[doc] = random() % 4 == 0;
    }
    for (size_t q = 0; q < 8 && neighbourhoods; ++q) {
      std::vector<uint32_t> found;
      CHECK(search(*data.graph, data.queries[q], 60, 128, everything, found));
      for (const uint32_t doc : found) gone[doc >> 16][doc & 0xffffu] = true;
    }
    // The columns without deleted documents, as in images of chunks.
    Clustered left(Metric::cosine, Storage::f16);
    std::vector<std::vector<uint32_t>> numbers;
    for (size_t c = 0; c < 3; ++c) {
      auto column = std::make_unique<Column>(data.columns[c]->options());
      numbers.emplace_back(data.n_docs[c], GraphLinks::kGone);
      uint32_t n = 0;
      for (uint32_t doc = 0; doc < data.n_docs[c]; ++doc) {
        if (gone[c][doc]) continue;
        if (data.columns[c]->has(doc)) column->append_copy(n, *data.columns[c], doc);
        numbers[c][doc] = static_cast<uint32_t>(c << 16) | n++;
      }
      left.n_docs[c] = n;
      left.columns[c] = std::move(column);
      left.pointers[c] = left.columns[c].get();
    }
    left.graph = Graph::build(left.pointers, left.n_docs, {}, [] { return false; });
    GraphLinks links = data.graph->links([&](uint32_t doc) { return numbers[doc >> 16][doc & 0xffffu]; });
    links.n_covered = left.n_docs;
    const auto graph = Graph::restore(left.pointers, links, {});
    CHECK(graph != nullptr);
    CHECK_EQ(graph->size(), left.graph->size());
    CHECK(left.recall(everything, graph.get()) >= left.recall(everything) - 0.01);
  }
}

TEST(graph_of_deleted_documents_only_has_no_links) {
  const GraphLinks links = cosine_f16().graph->links([](uint32_t) { return GraphLinks::kGone; });
  CHECK(links.docs.empty());
  CHECK(links.links.empty());
}

// Each of these would access memory out of bounds, lose a vector, or find one twice.
TEST(malformed_graph_links_are_refused) {
  const Clustered& data = cosine_f16();
  const GraphLinks right = kept(data);
  const auto n = static_cast<uint32_t>(right.docs.size());
  CHECK(Graph::restore(data.pointers, right, {}) != nullptr);
  const auto refused = [&](const std::function<void(GraphLinks&)>& damage) {
    GraphLinks links = right;
    damage(links);
    return Graph::restore(data.pointers, links, {}) == nullptr;
  };
  CHECK(refused([](GraphLinks& g) { g.connectivity = 3; }));
  CHECK(refused([](GraphLinks& g) { g.connectivity = 65; }));
  CHECK(refused([&](GraphLinks& g) { g.entry = n; }));
  CHECK(refused([&](GraphLinks& g) { g.entry = g.entry == 0 ? 1 : 0; }));  // not on the highest level
  CHECK(refused([&](GraphLinks& g) { g.links[7] = n; }));
  CHECK(refused([&](GraphLinks& g) { g.links[0] = 0; }));  // to itself
  CHECK(refused([](GraphLinks& g) { g.links.pop_back(); }));
  CHECK(refused([](GraphLinks& g) { g.links.push_back(0); }));
  CHECK(refused([](GraphLinks& g) { g.list_sizes.pop_back(); }));
  CHECK(refused([](GraphLinks& g) { g.list_sizes[0] = 33; }));
  CHECK(refused([](GraphLinks& g) { ++g.list_sizes[1]; }));
  CHECK(refused([](GraphLinks& g) { g.levels.pop_back(); }));
  CHECK(refused([](GraphLinks& g) { ++g.levels[0]; }));
  CHECK(refused([](GraphLinks& g) { g.levels[3] = 200; }));
  CHECK(refused([](GraphLinks& g) { g.docs[1] = g.docs[0]; }));
  CHECK(refused([](GraphLinks& g) { g.docs[1] = 3; }));  // has no vector
  CHECK(refused([](GraphLinks& g) { g.docs[1] = 3u << 16; }));
  CHECK(refused([](GraphLinks& g) { g.docs[1] = 2u << 16 | 400; }));
  CHECK(refused([](GraphLinks& g) { g.n_covered[2] = 399; }));
  CHECK(refused([](GraphLinks& g) { g.n_covered[0] = 0xffffffffu; }));
  CHECK(refused([](GraphLinks& g) { g.n_covered.pop_back(); }));
  CHECK(refused([](GraphLinks& g) { g.docs.clear(); }));
  CHECK(refused([](GraphLinks& g) { g = GraphLinks(); }));
  // A link on a higher level to a node that is only on the ground level.
  size_t list = 0, link = 0;
  uint32_t slot = 0;
  while (right.levels[slot] == 0 || right.list_sizes[list + 1] == 0) {
    for (uint32_t level = 0; level <= right.levels[slot]; ++level) link += right.list_sizes[list++];
    ++slot;
  }
  link += right.list_sizes[list];
  uint32_t low = 0;
  while (right.levels[low] != 0) ++low;
  CHECK(refused([&](GraphLinks& g) { g.links[link] = low; }));
}
