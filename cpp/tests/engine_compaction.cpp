// Compaction, in the background and on demand, changes nothing but memory, with concurrent
// writes and searches.
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

const std::optional<std::string_view> kNone;
const ScopeRef& home() {
  static const ScopeRef scope = std::make_shared<Scope>("acme", "jane", kNone);
  return scope;
}

EngineOptions options(uint32_t chunk_docs, bool background) {
  EngineOptions options;
  options.chunk_docs = chunk_docs;
  options.background = background;
  options.dim = 4;
  return options;
}

// Words from common to rare, long and short; every third document has a vector.
void write(Engine& engine, int64_t id, uint32_t version) {
  std::mt19937 random(static_cast<uint32_t>(id) * 31 + version);
  std::string text = "every";
  for (uint32_t i = random() % 12; i > 0; --i) text += " w" + std::to_string(random() % (1 + random() % 300));
  if (id % 5 == 0) text += " extraordinarily" + std::to_string(id % 50);
  const std::vector<float> vector{1.0f, static_cast<float>(version), static_cast<float>(id % 7), 0.5f};
  const DocumentInput input{Id::of(id), text, std::nullopt, home(),
                            id % 3 == 0 ? std::span<const float>(vector) : std::span<const float>()};
  CHECK_EQ(engine.upsert({&input, 1}), 1);
}
void remove(Engine& engine, int64_t id) {
  const DocumentKey removed{home().get(), Id::of(id)};
  static_cast<void>(engine.remove({&removed, 1}));
}

// Equal documents in equal order, equal postings, correct counts, and every id leads to its document.
void check_equal(const Engine& engine, const Engine& expected, int64_t n_ids) {
  const Digest a = engine.digest(*home()), b = expected.digest(*home());
  CHECK_EQ(a.n_docs, b.n_docs);
  CHECK_EQ(a.documents, b.documents);
  CHECK_EQ(a.n_postings, b.n_postings);
  CHECK_EQ(a.postings, b.postings);
  CHECK_EQ(a.n_vectors, b.n_vectors);
  CHECK_EQ(a.vectors, b.vectors);
  CHECK_EQ(a.total_length, b.total_length);
  CHECK_EQ(a.n_miscounted, 0);
  CHECK_EQ(engine.stats(nullptr).n_vectors, expected.stats(nullptr).n_vectors);
  CHECK_EQ(engine.count(nullptr), expected.count(nullptr));
  const base::EpochGuard guard;
  for (int64_t id = 0; id < n_ids; ++id) {
    const auto found = engine.get(Id::of(id), *home()), wanted = expected.get(Id::of(id), *home());
    CHECK_EQ(found.has_value(), wanted.has_value());
    if (!found || !wanted) continue;
    CHECK_EQ(found->chunk->text(found->offset), wanted->chunk->text(wanted->offset));
    CHECK(found->chunk->id(found->offset) == Id::of(id));
  }
  SearchRequest request;
  request.scope = home().get();
  request.k = 50;
  for (const char* query : {"every", "w1 w2 w3", "w250", "extraordinarily10 w7", "every w0 w1 w290"}) {
    request.text = query;
    const SearchResult ours = engine.search(request), theirs = expected.search(request);
    CHECK_EQ(ours.hits.size(), theirs.hits.size());
    for (size_t i = 0; i < std::min(ours.hits.size(), theirs.hits.size()); ++i) {
      CHECK(ours.hits[i].score == theirs.hits[i].score);
      CHECK(ours.chunk_of(ours.hits[i]).id(ours.hits[i].offset) ==
            theirs.chunk_of(theirs.hits[i]).id(theirs.hits[i].offset));
    }
  }
}

// Waits for `done()`, at most 20 s.
template <class Done>
bool wait_until(Done&& done) {
  for (int i = 0; i < 2000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool no_chunk_has_many_dead(const Engine& engine) {
  const EngineStats stats = engine.stats(nullptr);
  return stats.n_dead <= stats.n_chunks * 64 + stats.n_docs / 2;
}

}  // namespace

TEST(engine_compaction_in_the_background_changes_nothing_but_memory) {
  for (const uint32_t chunk_docs : {300u, 65'536u}) {
    Engine engine(options(chunk_docs, true)), expected(options(chunk_docs, false));
    for (Engine* each : {&engine, &expected}) {
      for (int64_t id = 0; id < 2000; ++id) write(*each, id, 0);
      for (int64_t id = 0; id < 2000; ++id) {
        if (id % 10 < 8 || (id > 600 && id < 1000)) remove(*each, id);
      }
      for (int64_t id = 0; id < 2000; id += 19) write(*each, id, 1);
    }
    CHECK(wait_until([&] { return no_chunk_has_many_dead(engine); }));
    CHECK(expected.stats(nullptr).n_dead > 1000);
    check_equal(engine, expected, 2000);
    static_cast<void>(engine.compact());
    CHECK_EQ(engine.stats(nullptr).n_dead, 0);
    check_equal(engine, expected, 2000);
    for (Engine* each : {&engine, &expected}) {
      for (int64_t id = 0; id < 2000; id += 3) write(*each, id, 2);
    }
    check_equal(engine, expected, 2000);
    base::collect_retired();
  }
}

TEST(engine_compaction_in_the_background_drops_what_is_empty) {
  Engine engine(options(100, true));
  for (int64_t id = 0; id < 1000; ++id) write(engine, id, 0);
  for (int64_t id = 0; id < 1000; ++id) remove(engine, id);
  CHECK(wait_until([&] { return no_chunk_has_many_dead(engine); }));
  static_cast<void>(engine.compact());
  CHECK_EQ(engine.stats(nullptr).n_partitions, 0);
  write(engine, 5, 0);
  CHECK_EQ(engine.count(home().get()), 1);
}

TEST(engine_compaction_runs_beside_writes_and_searches) {
  constexpr int64_t kIds = 900;
  Engine engine(options(256, true)), expected(options(256, false));
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!done.load()) static_cast<void>(engine.compact());
  });
  for (int t = 0; t < 2; ++t) {
    others.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      while (!done.load()) {
        SearchRequest request;
        request.scope = home().get();
        const std::string query = "every w" + std::to_string(random() % 20);
        request.text = query;
        request.k = 20;
        const SearchResult found = engine.search(request);
        const base::EpochGuard guard;
        for (const Hit& hit : found.hits) CHECK(found.chunk_of(hit).text(hit.offset).substr(0, 5) == "every");
        static_cast<void>(engine.get(Id::of(static_cast<int64_t>(random() % kIds)), *home()));
      }
    });
  }
  std::mt19937 random(9);
  for (uint32_t step = 0; step < 6000; ++step) {
    const auto id = static_cast<int64_t>(random() % kIds);
    const bool removes = random() % 3 == 0;
    for (Engine* each : {&engine, &expected}) {
      if (removes) {
        remove(*each, id);
      } else {
        write(*each, id, step);
      }
    }
  }
  done.store(true);
  for (std::thread& thread : others) thread.join();
  check_equal(engine, expected, kIds);
  base::collect_retired();
}

// The engine is destroyed while its thread works or sleeps.
TEST(engine_compaction_ends_with_the_engine) {
  for (int round = 0; round < 20; ++round) {
    Engine engine(options(4000, true));
    for (int64_t id = 0; id < 500; ++id) write(engine, id, 0);
    for (int64_t id = 0; id < 400; ++id) remove(engine, id);
    if (round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(round));
  }
  base::collect_retired();
}
