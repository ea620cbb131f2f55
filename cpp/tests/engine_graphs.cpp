// Searches through a graph stay correct while documents are added, deleted and compacted under it.
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine_model.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

constexpr uint32_t kDim = 8;
const std::optional<std::string_view> kNone;

struct Vectors {
  EngineOptions options;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Model> model;
  ScopeRef shared = std::make_shared<Scope>("acme", kNone, kNone),
           own = std::make_shared<Scope>("acme", "jane", kNone);
  std::mt19937 random{3};

  explicit Vectors(uint32_t chunk_docs) {
    options.chunk_docs = chunk_docs;
    options.dim = kDim;
    options.vector_plan = VectorPlan::graph;
    engine = std::make_unique<Engine>(options);
    model = std::make_unique<Model>(options);
  }
  std::vector<float> any_vector() {
    std::normal_distribution<float> normal;
    std::vector<float> vector(kDim);
    for (float& x : vector) x = normal(random);
    return vector;
  }
  [[nodiscard]] const ScopeRef& home_of(int64_t id) const { return id % 3 ? shared : own; }
  void write(int64_t id) {
    const std::vector<float> vector = id % 10 == 9 ? std::vector<float>() : any_vector();
    const DocumentInput input{Id::of(id), "number", std::nullopt, home_of(id), vector};
    CHECK_EQ(engine->upsert({&input, 1}), 1);
    model->upsert(input);
  }
  void remove(int64_t id) {
    const DocumentKey removed{home_of(id).get(), Id::of(id)};
    CHECK_EQ(engine->remove({&removed, 1}), model->remove(*removed.scope, id));
  }
  // Every result is correct, and nearly all of the best ten are found.
  void check() {
    size_t n_found = 0, n_wanted = 0;
    for (int i = 0; i < 20; ++i) {
      const std::vector<float> query = any_vector();
      SearchRequest request;
      request.vector = query;
      request.scope = i % 2 ? shared.get() : own.get();
      CHECK_EQ(difference_of_search(*engine, *model, request), "");
      const SearchResult found = engine->search(request);
      request.recall = 1.0;
      CHECK_EQ(difference_of_search(*engine, *model, request), "");
      const SearchResult wanted = engine->search(request);
      std::set<int64_t> ids;
      for (const Hit& hit : found.hits) ids.insert(id_of(found, hit));
      for (const Hit& hit : wanted.hits) {
        ++n_wanted;
        n_found += ids.count(id_of(wanted, hit));
      }
    }
    CHECK(n_found * 100 >= n_wanted * 95);
  }
};

}  // namespace

TEST(engine_graphs_through_updates_deletes_and_compaction) {
  for (const uint32_t chunk_docs : {8u, 50u, 1100u}) {
    Vectors v(chunk_docs);
    const int64_t n = chunk_docs == 1100 ? 2500 : 600;
    for (int64_t id = 0; id < n; ++id) v.write(id);
    CHECK_EQ(v.engine->build_graphs(100), 2);
    CHECK_EQ(v.engine->stats(nullptr).n_graphs, 2);
    CHECK(v.engine->stats(nullptr).graph_bytes > 0);
    v.check();
    for (int64_t id = 0; id < n; id += 4) v.remove(id);  // deleted in the graph
    v.check();
    for (int64_t id = 1; id < n; id += 4) v.write(id);  // deleted in the graph, live beside it
    for (int64_t id = n; id < n + 60; ++id) v.write(id);
    v.check();
    const uint64_t n_held = v.engine->stats(nullptr).n_in_graphs;
    CHECK_EQ(v.engine->build_graphs(100, false), 2);  // documents beside them are taken in, deleted ones stay
    // The small partition's only chunk of 1,100 is not full, so its graph is still empty.
    CHECK_EQ(v.engine->stats(nullptr).n_graph_extensions, chunk_docs == 1100 ? 1 : 2);
    const uint64_t n_extended = v.engine->stats(nullptr).n_in_graphs;
    CHECK(n_extended > n_held);
    v.check();
    CHECK_EQ(v.engine->build_graphs(100), 2);  // without deleted documents
    CHECK_EQ(v.engine->stats(nullptr).n_graph_extensions, 0);
    CHECK(v.engine->stats(nullptr).n_in_graphs < n_extended);
    CHECK(v.engine->stats(nullptr).n_in_graphs <= v.engine->stats(nullptr).n_vectors);
    v.check();
    CHECK(v.engine->compact() > 0);
    CHECK_EQ(v.engine->stats(nullptr).n_graphs, 0);  // its chunks are gone
    v.check();
    CHECK_EQ(v.engine->build_graphs(100), 2);
    CHECK_EQ(v.engine->compact(), 0);
    CHECK_EQ(v.engine->stats(nullptr).n_graphs, 2);  // nothing was rewritten
    v.check();
    CHECK_EQ(v.engine->erase(*v.own, true), v.model->erase(*v.own, true));
    CHECK_EQ(v.engine->stats(nullptr).n_graphs, 1);
    v.check();
    CHECK_EQ(difference_of_content(*v.engine, *v.model), "");
  }
  base::collect_retired();
  CHECK_EQ(base::n_retired(), 0);
}

// Any half, third or tenth, and all but the nearest: then the graph search is abandoned, and codes or rows
// are scanned.
TEST(engine_finds_what_a_filter_leaves_of_a_graph) {
  Vectors v(1100);
  constexpr int64_t kDocs = 2200;
  for (int64_t id = 0; id < kDocs; ++id) v.write(id);
  CHECK_EQ(v.engine->build_graphs(100), 2);
  size_t n_found = 0, n_wanted = 0;
  for (int i = 0; i < 60; ++i) {
    const std::vector<float> query = v.any_vector();
    SearchRequest request;
    request.vector = query;
    request.scope = v.own.get();
    std::vector<int64_t> given;
    if (i % 4 == 3) {
      request.k = 400;
      const SearchResult nearest = v.engine->search(request);
      for (const Hit& hit : nearest.hits) given.push_back(id_of(nearest, hit));
      request.k = 10;
    } else {
      const std::vector<uint32_t> parts{2, 3, 10};
      for (int64_t id = 0; id < kDocs; ++id) {
        if (v.random() % parts[static_cast<size_t>(i % 4)] == 0) given.push_back(id);
      }
    }
    const auto set = scrubjay::filter::IdSet::of_integers(given);
    (i % 4 == 3 ? request.filter.without.ids : request.filter.only.ids) = &set;
    const SearchResult found = v.engine->search(request);
    request.recall = 1.0;
    const SearchResult wanted = v.engine->search(request);
    CHECK_EQ(found.hits.size(), wanted.hits.size());
    std::set<int64_t> ids;
    for (const Hit& hit : found.hits) {
      ids.insert(id_of(found, hit));
      CHECK_EQ(set.contains(id_of(found, hit)), i % 4 != 3);
    }
    for (const Hit& hit : wanted.hits) {
      ++n_wanted;
      n_found += ids.count(id_of(wanted, hit));
    }
  }
  CHECK(n_wanted == 600);
  CHECK(n_found * 100 >= n_wanted * 97);
}

TEST(engine_builds_graphs_only_where_they_are_worth_it) {
  Vectors v(50);
  for (int64_t id = 0; id < 300; ++id) v.write(id);  // 180 shared vectors, 90 of its own
  CHECK_EQ(v.engine->build_graphs(1000), 0);
  CHECK_EQ(v.engine->build_graphs(150), 1);
  CHECK_EQ(v.engine->stats(v.shared.get()).n_graphs, 1);
  v.check();
}

// The engine's thread builds a graph once a partition is large, extends it when it is outgrown, and rebuilds
// it when much of it is deleted, concurrently with searches and writes.
TEST(engine_builds_graphs_beside_writes_and_searches) {
  constexpr uint32_t kCodedDim = 64;
  EngineOptions options;
  options.dim = kCodedDim;
  options.background = true;
  options.graph_bytes = 64 * 1500;
  options.vector_plan = VectorPlan::graph;
  Engine engine(options);
  const ScopeRef scope = std::make_shared<Scope>("acme", kNone, kNone);
  std::mt19937 random{5};
  std::normal_distribution<float> normal;
  const auto any_vector = [&] {
    std::vector<float> vector(kCodedDim);
    for (float& x : vector) x = normal(random);
    return vector;
  };
  int64_t n_written = 0;
  const auto write = [&](int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<float> vector = any_vector();
      const DocumentInput input{Id::of(n_written++), "", std::nullopt, scope, vector};
      CHECK_EQ(engine.upsert({&input, 1}), 1);
    }
  };
  const auto wait_for = [&](auto&& condition) {
    for (int i = 0; i < 30000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(condition());
  };
  const auto n_in_graphs = [&] { return engine.stats(nullptr).n_in_graphs; };
  write(1030);
  CHECK_EQ(engine.stats(nullptr).n_graphs, 0);  // still too small
  write(1030);
  wait_for([&] { return engine.stats(nullptr).n_graphs == 1; });
  const uint64_t before = n_in_graphs();
  CHECK(before >= 2048);
  const auto find_themselves = [&] {  // in the graph or beside it
    for (int64_t id = 0; id < n_written; id += 50) {
      const std::optional<StoredDocument> stored = engine.get(Id::of(id), *scope);
      if (!stored) continue;
      std::vector<float> query(kCodedDim);
      {
        const base::EpochGuard guard;
        stored->chunk->vectors()->read(stored->offset, query);
      }
      SearchRequest request;
      request.vector = query;
      request.scope = scope.get();
      request.k = 1;
      const SearchResult found = engine.search(request);
      CHECK_EQ(found.hits.size(), 1);
      CHECK_EQ(id_of(found, found.hits[0]), id);
    }
  };
  find_themselves();
  write(2100);
  // The last check is at the 4,096th document; a small share of the documents then present may stay beside.
  wait_for([&] {
    const uint64_t n_held = n_in_graphs(), n_seen = 4096;
    return n_held >= n_seen || (n_seen - n_held) * planner::kBesideShare <= n_held;
  });
  CHECK_EQ(engine.stats(nullptr).n_graphs, 1);
  CHECK(engine.stats(nullptr).n_graph_extensions >= 1);
  find_themselves();
  const uint64_t n_held = n_in_graphs();
  for (int64_t id = 0; id < n_written; ++id) {
    const DocumentKey removed{scope.get(), Id::of(id)};
    if (id % 5 < 2) CHECK_EQ(engine.remove({&removed, 1}), 1);
  }
  // Two fifths are deleted. A quarter was enough for a new graph, which holds the documents that were live at
  // that moment.
  wait_for([&] { return engine.stats(nullptr).n_graph_extensions == 0; });
  CHECK(n_in_graphs() <= static_cast<uint64_t>(n_written) - n_held / planner::kDeadShare);
  find_themselves();
  write(3000);  // possibly during an extension
}

// Documents without a vector around a few with one: most rows of the column were never allocated.
TEST(engine_finds_the_few_vectors_of_a_large_chunk) {
  Vectors v(kMaxChunkDocs);
  for (int64_t id = 0; id < 2100; ++id) {
    const std::vector<float> vector = id == 0 || id == 1500 ? v.any_vector() : std::vector<float>();
    const DocumentInput input{Id::of(id), "", std::nullopt, v.shared, vector};
    CHECK_EQ(v.engine->upsert({&input, 1}), 1);
  }
  const std::vector<float> query = v.any_vector();
  SearchRequest request;
  request.vector = query;
  request.scope = v.shared.get();
  CHECK_EQ(v.engine->search(request).hits.size(), 2);
  CHECK_EQ(v.engine->build_graphs(1), 1);
  CHECK_EQ(v.engine->search(request).hits.size(), 2);
}
