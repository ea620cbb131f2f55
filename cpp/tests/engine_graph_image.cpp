// Graphs beside the images of their chunks: a loaded graph serves immediately; one that is damaged, or
// belongs to other images, is ignored, and the documents are loaded all the same.
#include "engine/graph_image.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine_model.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

constexpr uint32_t kDim = 64;  // with codes
const std::optional<std::string_view> kNone;

EngineOptions options() {
  EngineOptions made;
  made.chunk_docs = 70;
  made.dim = kDim;
  made.vector_plan = VectorPlan::graph;
  return made;
}

struct Kept {
  ScopeRef scope = std::make_shared<Scope>("acme", "jane", kNone);
  std::unique_ptr<Engine> engine = std::make_unique<Engine>(options());
  std::unique_ptr<Model> model = std::make_unique<Model>(options());
  std::mt19937 random{3};

  explicit Kept(int64_t n) {
    for (int64_t id = 0; id < n; ++id) write(id);
    CHECK_EQ(engine->build_graphs(1), 1);
  }
  std::vector<float> any_vector() {
    std::normal_distribution<float> normal;
    std::vector<float> vector(kDim);
    for (float& x : vector) x = normal(random);
    return vector;
  }
  void write(int64_t id) {
    const std::vector<float> vector = id % 10 == 9 ? std::vector<float>() : any_vector();
    const DocumentInput input{Id::of(id), "number", std::nullopt, scope, vector};
    CHECK_EQ(engine->upsert({&input, 1}), 1);
    model->upsert(input);
  }
  void remove(int64_t id) {
    const DocumentKey removed{scope.get(), Id::of(id)};
    CHECK_EQ(engine->remove({&removed, 1}), model->remove(*scope, id));
  }
  void check(const Engine& searched) {
    for (int i = 0; i < 20; ++i) {
      const std::vector<float> query = any_vector();
      SearchRequest request;
      request.vector = query;
      request.scope = scope.get();
      CHECK_EQ(difference_of_search(searched, *model, request), "");
      CHECK_EQ(searched.search(request).hits.size(), 10);
    }
  }
};

std::vector<std::string_view> views(const std::vector<std::string>& images) {
  return {images.begin(), images.end()};
}

}  // namespace

TEST(graph_image_comes_back_with_its_chunks) {
  for (const bool deleting : {false, true}) {
    Kept kept(300);  // four full chunks and an open one, which is left to the scan
    if (deleting) {
      for (int64_t id = 70; id < 140; id += 5) kept.remove(id);  // the second is no longer full
      for (int64_t id = 140; id < 210; ++id) kept.remove(id);    // no live document in the third
    }
    const std::vector<std::string> images = kept.engine->save_partition(*kept.scope);
    CHECK_EQ(images.size(), deleting ? 5u : 6u);
    CHECK(is_graph_image(images.back()));
    Engine read(options());
    CHECK_EQ(read.load_partition(kept.scope, views(images)), kept.engine->count(nullptr));
    CHECK(read.graph_state(*kept.scope) == GraphState::built);
    const EngineStats stats = read.stats(nullptr);
    CHECK_EQ(stats.n_graphs, 1);
    CHECK_EQ(stats.n_in_graphs, deleting ? 126 : 252);  // without the documents that have no vector
    CHECK(stats.graph_bytes > 0);
    std::vector<std::string_view> of_chunks = views(images);
    of_chunks.pop_back();
    Engine without(options());
    CHECK_EQ(without.load_partition(kept.scope, of_chunks), kept.engine->count(nullptr));
    CHECK(without.graph_state(*kept.scope) == GraphState::none);
    CHECK_EQ(stats.memory_bytes, without.stats(nullptr).memory_bytes + stats.graph_bytes);
    kept.check(read);

    // It can be used like any other.
    kept.engine = std::make_unique<Engine>(options());
    CHECK_EQ(kept.engine->load_partition(kept.scope, views(images)), kept.model->count(nullptr));
    for (int64_t id = 300; id < 500; ++id) kept.write(id);
    for (int64_t id = 0; id < 500; id += 7) kept.remove(id);
    kept.check(*kept.engine);
    CHECK_EQ(kept.engine->build_graphs(1, false), 1);
    CHECK_EQ(kept.engine->stats(nullptr).n_graph_extensions, 1);
    CHECK(kept.engine->stats(nullptr).n_in_graphs > stats.n_in_graphs);
    kept.check(*kept.engine);
    CHECK(kept.engine->compact() > 0);
    kept.check(*kept.engine);
    CHECK(kept.engine->graph_state(*kept.scope) == GraphState::none);
  }
  base::collect_retired();
  CHECK_EQ(base::n_retired(), 0);
}

TEST(graph_image_keeps_what_the_trial_found) {
#if defined(__SANITIZE_THREAD__)
  SKIP("a trial is the work of one thread, and takes minutes here");
#endif
  EngineOptions wide;
  wide.dim = kDim;
  wide.background = false;
  const auto scope = std::make_shared<Scope>("acme", "jane", kNone);
  Engine engine(wide);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> vector(kDim);
  for (int64_t id = 0; id < 17'000; ++id) {  // hard to search: no structure at all
    for (float& x : vector) x = normal(random);
    const DocumentInput input{Id::of(id), "number", std::nullopt, scope, vector};
    CHECK_EQ(engine.upsert({&input, 1}), 1);
  }
  CHECK_EQ(engine.build_graphs(1), 1);
  const std::vector<std::string> images = engine.save_partition(*scope);
  uint64_t scales = 0;
  std::memcpy(&scales, images.back().data() + 48, sizeof scales);
  CHECK(scales != 0);
  Engine read(wide);
  CHECK_EQ(read.load_partition(scope, views(images)), 17'000);
  CHECK(read.save_partition(*scope) == images);
}

TEST(graph_image_that_was_damaged_is_ignored) {
  Kept kept(200);
  const std::vector<std::string> images = kept.engine->save_partition(*kept.scope);
  CHECK(is_graph_image(images.back()));
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> damaged = images;
    std::string& image = damaged.back();
    if (round % 3 == 0) {
      image.resize(8 + random() % (image.size() - 8));
    } else if (round % 3 == 1) {
      image[8 + random() % (image.size() - 8)] ^= static_cast<char>(1u << (random() % 8));
    } else {
      image.append(1 + random() % 9, '\0');
    }
    Engine read(options());
    CHECK_EQ(read.load_partition(kept.scope, views(damaged)), kept.engine->count(nullptr));
    CHECK(read.graph_state(*kept.scope) == GraphState::none);
    if (round % 100 == 0) {
      kept.check(read);
      CHECK_EQ(read.build_graphs(1), 1);
      kept.check(read);
    }
  }
}

TEST(graph_image_of_other_chunks_is_ignored) {
  Kept kept(200);
  const std::vector<std::string> images = kept.engine->save_partition(*kept.scope);
  const auto state_of = [&](const std::vector<std::string_view>& given, const EngineOptions& of) {
    Engine read(of);
    static_cast<void>(read.load_partition(kept.scope, given));
    return read.graph_state(*kept.scope);
  };
  CHECK(state_of(views(images), options()) == GraphState::built);
  std::vector<std::string_view> first = views(images);
  std::rotate(first.begin(), first.end() - 1, first.end());
  CHECK(state_of(first, options()) == GraphState::built);  // at any position
  // If chunks may hold more documents, their rows may still move.
  EngineOptions larger = options();
  larger.chunk_docs = 71;
  CHECK(state_of(views(images), larger) == GraphState::none);

  // From an older generation: a document was replaced since.
  kept.write(70);
  std::vector<std::string> newer = kept.engine->save_partition(*kept.scope);
  CHECK(newer.back() != images.back());
  newer.back() = images.back();
  CHECK(state_of(views(newer), options()) == GraphState::none);
  // With one chunk less, or in another order.
  std::vector<std::string_view> fewer = views(images);
  fewer.erase(fewer.begin());
  CHECK(state_of(fewer, options()) == GraphState::none);
  std::vector<std::string_view> turned = views(images);
  std::swap(turned[0], turned[1]);
  CHECK(state_of(turned, options()) == GraphState::none);
  CHECK(state_of({images.back()}, options()) == GraphState::none);  // without any chunk
}

// The engine's thread builds the missing graph.
TEST(ignored_graph_is_rebuilt_in_the_background) {
  Kept kept(200);
  const std::vector<std::string> images = kept.engine->save_partition(*kept.scope);
  std::vector<std::string_view> without = views(images);
  without.pop_back();
  EngineOptions behind = options();
  behind.background = true;
  behind.graph_bytes = 0;
  Engine read(behind);
  static_cast<void>(read.load_partition(kept.scope, without));
  for (int i = 0; i < 6000 && read.graph_state(*kept.scope) != GraphState::built; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(read.graph_state(*kept.scope) == GraphState::built);
  kept.check(read);
}

// The engine's thread takes in what was written after the saved graph: until then the state is not "built".
TEST(loaded_graph_is_extended_by_documents_it_lacks) {
  Kept kept(200);
  for (int64_t id = 200; id < 400; ++id) kept.write(id);
  const std::vector<std::string> images = kept.engine->save_partition(*kept.scope);
  const uint64_t n_kept = kept.engine->stats(nullptr).n_in_graphs;
  EngineOptions behind = options();
  behind.background = true;
  behind.graph_bytes = 0;
  Engine read(behind);
  static_cast<void>(read.load_partition(kept.scope, views(images)));
  GraphState state = read.graph_state(*kept.scope);
  for (int i = 0; i < 6000 && state != GraphState::built; ++i) {
    CHECK(state == GraphState::growing);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    state = read.graph_state(*kept.scope);
  }
  CHECK(read.stats(nullptr).n_in_graphs > n_kept);
  kept.check(read);
}
