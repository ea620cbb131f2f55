// Does the engine keep its promises while four threads write, erase, compact and search? Mostly of interest
// under the thread and address sanitizers. Runs for SCRUBJAY_SOAK_SECONDS (default 1), then compares with an
// engine that was given the surviving documents one by one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

namespace {

using namespace scrubjay::engine;
using Random = std::mt19937_64;

constexpr uint32_t kDim = 12;
constexpr int64_t kIdsPerWriter = 1200;
constexpr const char* kWords[] = {"deploy", "staging", "prefers", "tea",      "train",   "invoice",
                                  "berlin", "ticket",  "python",  "password", "meeting", "allergy",
                                  "backup", "release", "jay",     "the"};

struct Written {
  std::string text;
  std::vector<float> vector;
  ScopeRef scope;
};
using Survivors = std::map<int64_t, Written>;

ScopeRef scope_of(size_t writer, uint64_t number) {
  static const std::string users[] = {"jane", "joe"};
  const std::string tenant = writer == 0 ? "acme" : "globex";
  switch (number % 4) {
    case 0:
      return std::make_shared<Scope>(tenant, std::nullopt, std::nullopt);
    case 3:
      return std::make_shared<Scope>(tenant, std::nullopt, "bot");
    default:
      return std::make_shared<Scope>(tenant, users[number % 2], std::nullopt);
  }
}

std::string words(Random& random, uint64_t n) {
  std::string text;
  for (; n > 0; --n) text.append(kWords[random() % std::size(kWords)]).append(" ");
  return text;
}

std::vector<float> unit_vector(Random& random) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(kDim);
  for (float& value : vector) value = normal(random);
  return vector;
}

EngineOptions options() {
  EngineOptions made;
  made.dim = kDim;
  made.chunk_docs = 200;  // many chunk borders
  return made;
}

int64_t id_at(const SearchResult& result, const Hit& hit) {
  return result.chunk_of(hit).id(hit.offset).integer;
}

// Writes, replaces, deletes, erases; after each step it searches for what it just did. Only it touches its
// ids.
void write(Engine& engine, size_t writer, std::chrono::steady_clock::time_point end, Survivors& alive) {
  Random random(writer);
  for (uint64_t step = 0; std::chrono::steady_clock::now() < end; ++step) {
    const int64_t id =
        static_cast<int64_t>(writer) * kIdsPerWriter + static_cast<int64_t>(random() % kIdsPerWriter);
    const std::string mark = "mark-" + std::to_string(writer) + "-" + std::to_string(step);
    const auto known = alive.find(id);
    const ScopeRef scope = known == alive.end() ? scope_of(writer, random()) : known->second.scope;
    const Id key = Id::of(id);
    if (random() % 4 == 0) {
      CHECK_EQ(engine.remove({&key, 1}), known == alive.end() ? 0 : 1);
      CHECK(!engine.get(key).has_value());
      if (known != alive.end()) alive.erase(known);
    } else {
      const bool with_vector = random() % 5 != 0;
      Written written{words(random, random() % 30) + mark,
                      with_vector ? unit_vector(random) : std::vector<float>{}, scope};
      const DocumentInput document{key, written.text, std::nullopt, scope, written.vector};
      CHECK_EQ(engine.upsert({&document, 1}), 1);
      alive.insert_or_assign(id, std::move(written));
      SearchRequest request;
      request.text = mark;
      request.scope = scope.get();
      request.k = 1;
      const SearchResult result = engine.search(request);
      CHECK(result.hits.size() == 1 && id_at(result, result.hits[0]) == id);
    }
    if (step % 997 == 996) {
      const ScopeRef erased = scope_of(writer, random());
      std::vector<int64_t> gone;
      for (const auto& [other, written] : alive) {
        if (*written.scope == *erased) gone.push_back(other);
      }
      CHECK_EQ(engine.erase(*erased, true), gone.size());
      for (const int64_t other : gone) alive.erase(other);
      CHECK_EQ(engine.count(scope_of(writer, 0).get()) == 0,
               erased->user() || erased->agent() ? false : true);
    }
    if (step % 401 == 400) static_cast<void>(engine.compact());
    if (writer == 0 && step % 1499 == 1498) static_cast<void>(engine.build_graphs(100));
  }
}

// Searches all the time and sees only what may be seen, in order.
void search(const Engine& engine, size_t seed, std::chrono::steady_clock::time_point end,
            std::atomic<uint64_t>& n_searches) {
  Random random(seed);
  while (std::chrono::steady_clock::now() < end) {
    const ScopeRef scope = scope_of(random() % 2, random());
    const std::string text = words(random, 1 + random() % 6);
    const std::vector<float> vector = unit_vector(random);
    std::vector<SearchRequest> requests(1 + random() % 3);
    for (SearchRequest& request : requests) {
      if (random() % 4 != 0) request.text = text;
      if (!request.text || random() % 2 == 0) request.vector = vector;
      request.scope = scope.get();
      request.k = 1 + random() % 50;
      request.explain = random() % 2 == 0;
      request.exact = random() % 2 == 0;
    }
    for (const SearchResult& result : engine.search_batch(requests, 1 + random() % 2)) {
      double previous = std::numeric_limits<double>::infinity();
      for (const Hit& hit : result.hits) {
        const scrubjay::base::EpochGuard guard;
        const Chunk& chunk = result.chunk_of(hit);
        bool visible = false;
        for (auto seen = scope->visible_begin(); seen != scope->visible_end(); ++seen)
          visible = visible || seen->key == chunk.scope()->key();
        CHECK(visible);
        CHECK(hit.score <= previous);
        previous = hit.score;
        const std::string owner = std::to_string(chunk.id(hit.offset).integer / kIdsPerWriter);
        CHECK(chunk.text(hit.offset).find("mark-" + owner + "-") != std::string_view::npos);
      }
      ++n_searches;
    }
  }
}

using Scored = std::vector<std::pair<double, int64_t>>;

Scored everything(const Engine& engine, const Scope& scope, const std::string& text) {
  SearchRequest request;
  request.text = text;
  request.scope = &scope;
  request.k = 1'000'000;
  const SearchResult result = engine.search(request);
  Scored scored;
  for (const Hit& hit : result.hits) scored.emplace_back(hit.score, id_at(result, hit));
  std::sort(scored.begin(), scored.end());  // ties: the order of writing differs
  return scored;
}

}  // namespace

TEST(engine_soak_of_writers_and_readers) {
  const char* given = std::getenv("SCRUBJAY_SOAK_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(given == nullptr ? 1 : std::atoi(given));
  Engine engine(options());
  Survivors alive[2];
  std::atomic<uint64_t> n_searches{0};
  {
    std::vector<std::thread> threads;
    for (size_t writer : {0, 1})
      threads.emplace_back([&, writer] { write(engine, writer, end, alive[writer]); });
    for (size_t seed : {2, 3}) threads.emplace_back([&, seed] { search(engine, seed, end, n_searches); });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(n_searches > 0);
  CHECK_EQ(engine.count(nullptr), alive[0].size() + alive[1].size());

  Engine fresh(options());
  for (const Survivors& survivors : alive) {
    for (const auto& [id, written] : survivors) {
      const DocumentInput document{Id::of(id), written.text, std::nullopt, written.scope, written.vector};
      static_cast<void>(fresh.upsert({&document, 1}));
      const scrubjay::base::EpochGuard guard;
      const auto stored = engine.get(Id::of(id));
      CHECK(stored.has_value() && stored->chunk.get()->text(stored->offset) == written.text);
    }
  }
  Random random(9);
  for (int i = 0; i < 40; ++i) {
    const Scope scope(i % 2 == 0 ? "acme" : "globex", i % 4 < 2 ? "jane" : "joe",
                      i % 3 == 0 ? "bot" : "none");
    const std::string text = words(random, 1 + random() % 5);
    CHECK_EQ(engine.count(&scope), fresh.count(&scope));
    CHECK(everything(engine, scope, text) == everything(fresh, scope, text));
  }
}
