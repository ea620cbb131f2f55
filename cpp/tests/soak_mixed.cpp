// Does everything at once go well for long? Four threads do everything that an engine offers, on the same
// documents, for SCRUBJAY_SOAK_SECONDS (default 2). Most of its worth is under the address and thread
// sanitizers.
//
// Every text names its document, its scope and its version, so that whatever is read can be held against what
// it claims.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
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

using Clock = std::chrono::steady_clock;

constexpr size_t kThreads = 4, kScopes = 9;
constexpr int64_t kSharedIds = 400, kOwnIds = 100;  // written by all threads; by one thread each
constexpr uint32_t kDim = 8;
constexpr const char* kWords[] = {
    "deploy", "staging", "tea", "train", "berlin", "invoice", "the", "a-rather-long-identifier", "TS-999"};
const std::optional<std::string_view> kNone;

double soak_seconds() {
  const char* given = std::getenv("SCRUBJAY_SOAK_SECONDS");
  return given ? std::atof(given) : 2.0;
}

// A number as one word that no stemmer changes and that nothing splits.
std::string word_of(char first, uint64_t number) {
  std::string word(1, first);
  for (; number != 0; number /= 8) word.push_back("bcdfghjk"[number % 8]);
  return word + "q";
}

class Soak {
 public:
  Soak() : engine_(options()) {
    for (const char* tenant : {"acme", "globex", "initech"}) {
      scopes_.push_back(std::make_shared<Scope>(tenant, kNone, kNone));
      scopes_.push_back(std::make_shared<Scope>(tenant, "jane", kNone));
      scopes_.push_back(std::make_shared<Scope>(tenant, "jane", "bot"));
    }
  }

  void run() {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(soak_seconds()));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t, end] { Worker(*this, t).run(end); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(n_steps_ > 0 && n_hits_ > 0);
    check_at_rest();
  }

 private:
  static EngineOptions options() {
    EngineOptions options;
    options.chunk_docs = 16;
    options.dim = kDim;
    return options;
  }
  // Shared ids may be erased by anybody, so they have tenants of their own: the first two. Own ids live with
  // the third.
  [[nodiscard]] const ScopeRef& home_of(int64_t id) const {
    return id < kSharedIds ? scopes_[static_cast<size_t>(id) % 6] : scopes_[6 + static_cast<size_t>(id) % 3];
  }
  [[nodiscard]] static std::string name_of(int64_t id) { return word_of('n', static_cast<uint64_t>(id)); }
  [[nodiscard]] static size_t visible_partitions(const Scope& from, const Scope& owner) {
    return from.tenant() == owner.tenant() && (!owner.user() || owner.user() == from.user()) &&
           (!owner.agent() || owner.agent() == from.agent());
  }

  // A document as found: its text belongs to its id and its scope, its payload to its text.
  void check_document(const Chunk& chunk, uint32_t offset) const {
    const base::EpochGuard guard;
    const int64_t id = chunk.id(offset).integer;
    const std::string_view text = chunk.text(offset);
    CHECK(text.starts_with(name_of(id) + " "));
    CHECK(*chunk.scope() == *home_of(id));
    const auto payload = chunk.payload(offset);
    CHECK(payload.has_value() && text.ends_with(*payload));
  }
  void check_result(const SearchResult& result, const SearchRequest& request) {
    double previous = std::numeric_limits<double>::infinity();
    CHECK(result.hits.size() <= request.k);
    for (const Hit& hit : result.hits) {
      const Chunk& chunk = result.chunk_of(hit);
      CHECK(visible_partitions(*request.scope, *chunk.scope()));
      CHECK(hit.score <= previous && hit.score >= -100.0);
      previous = hit.score;
      check_document(chunk, hit.offset);
    }
    n_hits_ += result.hits.size();
  }

  // One thread.
  class Worker {
   public:
    Worker(Soak& soak, size_t number)
        : soak_(soak), engine_(soak.engine_), number_(number), random_(number) {}

    void run(Clock::time_point end) {
      while (Clock::now() < end) {
        step();
        ++soak_.n_steps_;
      }
    }

   private:
    void step() {
      switch (random_() % 64) {
        case 0:
          static_cast<void>(engine_.compact());
          return;
        case 1:
          static_cast<void>(engine_.build_graphs(20, random_() % 2 == 0));
          return;
        case 2:
          static_cast<void>(engine_.erase(*soak_.scopes_[random_() % 6], random_() % 2 == 0));
          return;
        case 3:
          check_stats();
          return;
        case 4:
          upsert_many();
          return;
        default:
          break;
      }
      switch (random_() % 8) {
        case 0:
        case 1:
          upsert(static_cast<int64_t>(random_() % kSharedIds));
          return;
        case 2:
          update_own();
          return;
        case 3:
          remove();
          return;
        case 4:
          get();
          return;
        case 5:
          search_batch();
          return;
        default:
          search();
          return;
      }
    }

    std::string text_of(int64_t id, const std::string& payload) {
      std::string text = Soak::name_of(id) + " ";
      for (uint64_t n = random_() % 20; n > 0; --n)
        text.append(kWords[random_() % std::size(kWords)]).append(" ");
      if (random_() % 50 == 0) {
        for (int i = 0; i < 1200; ++i) text += "long ";
      }
      return text + payload;
    }
    std::string new_version() { return word_of('v', ++n_versions_ * kThreads + number_); }
    std::vector<float> any_vector() {
      std::normal_distribution<float> normal;
      std::vector<float> vector(kDim);
      for (float& x : vector) x = normal(random_);
      return vector;
    }

    void upsert(int64_t id) {
      const std::string payload = new_version(), text = text_of(id, payload);
      const std::vector<float> vector = random_() % 4 ? any_vector() : std::vector<float>();
      const DocumentInput input{Id::of(id), text, payload, soak_.home_of(id), vector};
      CHECK_EQ(engine_.upsert({&input, 1}), 1);
    }
    void upsert_many() {
      std::deque<std::string> kept;
      std::vector<DocumentInput> inputs;
      for (int i = 0; i < 30; ++i) {
        const auto id = static_cast<int64_t>(random_() % kSharedIds);
        const std::string& payload = kept.emplace_back(new_version());
        inputs.push_back(
            {Id::of(id), kept.emplace_back(text_of(id, payload)), payload, soak_.home_of(id), {}});
      }
      CHECK(engine_.upsert(inputs) <= 30);
    }
    // Nobody else touches it: what was just written is what is found.
    void update_own() {
      const int64_t id =
          kSharedIds + static_cast<int64_t>(number_) * kOwnIds + static_cast<int64_t>(random_() % kOwnIds);
      const Id key = Id::of(id);
      const std::string payload = new_version(), text = text_of(id, payload);
      const std::vector<float> vector = any_vector();
      const DocumentInput input{key, text, payload, soak_.home_of(id), vector};
      CHECK_EQ(engine_.upsert({&input, 1}), 1);
      const auto stored = engine_.get(key);
      CHECK(stored.has_value());
      if (stored) {
        const base::EpochGuard guard;
        CHECK_EQ(stored->chunk->text(stored->offset), text);
      }
      SearchRequest request;
      request.text = payload;
      request.vector = vector;
      request.scope = soak_.home_of(id).get();
      request.recall = 1.0;
      request.k = 1;
      const SearchResult result = engine_.search(request);
      CHECK_EQ(result.hits.size(), 1);
      if (result.hits.size() == 1) {
        const base::EpochGuard guard;
        CHECK_EQ(result.chunk_of(result.hits[0]).id(result.hits[0].offset).integer, id);
      }
      soak_.check_result(result, request);
      if (random_() % 3 != 0) return;
      CHECK_EQ(engine_.remove({&key, 1}), 1);
      CHECK(!engine_.get(key).has_value());
      CHECK_EQ(engine_.remove({&key, 1}), 0);
      request.vector = {};
      CHECK(engine_.search(request).hits.empty());
    }
    void remove() {
      std::vector<Id> ids;
      for (uint64_t n = 1 + random_() % 4; n > 0; --n)
        ids.push_back(Id::of(static_cast<int64_t>(random_() % kSharedIds)));
      CHECK(engine_.remove(ids) <= ids.size());
    }
    void get() {
      const auto id = static_cast<int64_t>(random_() % kSharedIds);
      const auto stored = engine_.get(Id::of(id));
      if (!stored) return;
      soak_.check_document(*stored->chunk.get(), stored->offset);
      const base::EpochGuard guard;
      CHECK_EQ(stored->chunk->id(stored->offset).integer, id);
    }
    void check_stats() {
      const EngineStats all = engine_.stats(nullptr);
      CHECK(all.n_docs <= kSharedIds + kThreads * kOwnIds);
      CHECK(all.n_vectors <= all.n_docs);
      const EngineStats some = engine_.stats(soak_.scopes_[random_() % kScopes].get());
      CHECK(some.n_partitions <= 3);
      const Scope& scope = *soak_.scopes_[random_() % kScopes];
      CHECK_EQ(engine_.digest(scope).n_miscounted, 0);
      for (const std::string& image : engine_.save_partition(scope)) CHECK(!image.empty());
      CHECK(engine_.count(nullptr) <= kSharedIds + kThreads * kOwnIds);
    }

    SearchRequest any_request(std::string& text, std::vector<float>& vector) {
      text = random_() % 4 == 0 ? Soak::name_of(static_cast<int64_t>(random_() % kSharedIds)) + " " : "";
      for (uint64_t n = random_() % 4; n > 0; --n)
        text.append(kWords[random_() % std::size(kWords)]).append(" ");
      vector = any_vector();
      SearchRequest request;
      if (random_() % 4 != 0) request.text = text;
      if (!request.text || random_() % 2 == 0) request.vector = vector;
      request.scope = soak_.scopes_[random_() % kScopes].get();
      request.k = 1 + random_() % 30;
      request.explain = random_() % 3 == 0;
      request.recall = random_() % 3 == 0 ? 1.0 : 0.99;
      return request;
    }
    void search() {
      std::string text;
      std::vector<float> vector;
      SearchRequest request = any_request(text, vector);
      std::vector<std::vector<Id>> rankings(random_() % 4 == 0 ? 1 : 0);
      for (std::vector<Id>& ranking : rankings) {
        for (int i = 0; i < 10; ++i) ranking.push_back(Id::of(static_cast<int64_t>(random_() % kSharedIds)));
      }
      request.rankings = rankings;
      const SearchResult result = engine_.search(request);
      soak_.check_result(result, request);
      held_.emplace_back(result);  // read again later, when its chunks may be long compacted away
      if (held_.size() < 16) return;
      for (const Hit& hit : held_.front().hits) soak_.check_document(held_.front().chunk_of(hit), hit.offset);
      held_.pop_front();
    }
    void search_batch() {
      std::vector<std::string> texts(1 + random_() % 6);
      std::vector<std::vector<float>> vectors(texts.size());
      std::vector<SearchRequest> requests;
      for (size_t i = 0; i < texts.size(); ++i) requests.push_back(any_request(texts[i], vectors[i]));
      const std::vector<SearchResult> results = engine_.search_batch(requests, 1 + random_() % 3);
      for (size_t i = 0; i < results.size(); ++i) soak_.check_result(results[i], requests[i]);
    }

    Soak& soak_;
    Engine& engine_;
    const size_t number_;
    std::mt19937_64 random_;
    uint64_t n_versions_ = 0;
    std::deque<SearchResult> held_;
  };

  // Nobody writes any more: all ways to count agree, every document is found by its name, and all memory
  // comes back.
  void check_at_rest() {
    std::vector<Id> alive;
    for (int64_t id = 0; id < kSharedIds + static_cast<int64_t>(kThreads) * kOwnIds; ++id) {
      const auto stored = engine_.get(Id::of(id));
      const std::string name = name_of(id);
      SearchRequest request;
      request.text = name;
      request.scope = home_of(id).get();
      CHECK_EQ(engine_.search(request).hits.size(), stored ? 1 : 0);
      if (!stored) continue;
      check_document(*stored->chunk.get(), stored->offset);
      alive.push_back(Id::of(id));
    }
    CHECK_EQ(engine_.count(nullptr), alive.size());
    CHECK_EQ(engine_.stats(nullptr).n_docs, alive.size());
    size_t n = 0;
    for (const ScopeRef& scope : scopes_) {
      const EngineStats stats = engine_.stats(scope.get());
      CHECK_EQ(stats.n_docs, engine_.count(scope.get()));
      if (scope->agent()) n += stats.n_docs;  // sees all of its tenant's three partitions
    }
    CHECK_EQ(n, alive.size());
    check_against_a_fresh_engine(alive);
    CHECK_EQ(engine_.remove(alive), alive.size());
    static_cast<void>(engine_.compact());
    const EngineStats empty = engine_.stats(nullptr);
    CHECK(empty.n_docs == 0 && empty.n_dead == 0 && empty.n_partitions == 0 && empty.n_postings == 0);
    base::collect_retired();
    CHECK_EQ(base::n_retired(), 0);
  }

  // What went through all of this scores like what was written once.
  void check_against_a_fresh_engine(const std::vector<Id>& alive) {
    Engine fresh(options());
    for (const Id& id : alive) {
      const auto stored = engine_.get(id);
      const base::EpochGuard guard;
      const DocumentInput input{
          id, stored->chunk->text(stored->offset), std::nullopt, home_of(id.integer), {}};
      CHECK_EQ(fresh.upsert({&input, 1}), 1);
    }
    const auto everything = [](const Engine& engine, const Scope& scope, std::string_view text) {
      SearchRequest request;
      request.text = text;
      request.scope = &scope;
      request.k = 1'000'000;
      const SearchResult result = engine.search(request);
      std::vector<std::pair<double, int64_t>> scored;
      const base::EpochGuard guard;
      for (const Hit& hit : result.hits) {
        scored.emplace_back(hit.score, result.chunk_of(hit).id(hit.offset).integer);
      }
      std::sort(scored.begin(), scored.end());  // equal scores stand in the order of writing, which differs
      return scored;
    };
    for (const ScopeRef& scope : scopes_) {
      CHECK_EQ(engine_.count(scope.get()), fresh.count(scope.get()));
      for (const char* text :
           {"tea", "deploy staging the", "long berlin TS-999", "a-rather-long-identifier train"}) {
        CHECK(everything(engine_, *scope, text) == everything(fresh, *scope, text));
      }
    }
  }

  Engine engine_;
  std::vector<ScopeRef> scopes_;
  std::atomic<uint64_t> n_steps_{0}, n_hits_{0};
};

}  // namespace

TEST(soak_of_everything_at_once) { Soak().run(); }
