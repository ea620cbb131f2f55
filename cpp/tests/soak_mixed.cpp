// Soak test: four threads use everything that an engine offers, on the same documents, for
// SCRUBJAY_SOAK_SECONDS (default 2). Most valuable under the address and thread sanitizers.
//
// Every text names its document, its scope and its version, so that everything that is read can be checked.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;
namespace filter = scrubjay::filter;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kThreads = 4, kScopes = 9;
constexpr int64_t kShared = 402, kOwn = 102;  // written by all threads; by one thread each
constexpr uint32_t kDim = 8;
constexpr const char* kWords[] = {
    "deploy", "staging", "tea", "train", "berlin", "invoice", "the", "a-rather-long-identifier", "TS-999"};
const std::optional<std::string_view> kNone;

double soak_seconds() {
  const char* given = std::getenv("SCRUBJAY_SOAK_SECONDS");
  return given ? std::atof(given) : 2.0;
}

// A number as one word that no stemmer changes and no rule splits.
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
  // Documents are numbered. Three documents with one id are in the three scopes of one tenant. Shared ones
  // may be erased by any thread, so they have their own tenants: the first two. The threads' own ones are in
  // the third.
  [[nodiscard]] const ScopeRef& home_of(int64_t number) const {
    const auto n = static_cast<size_t>(number);
    return scopes_[(number < kShared ? n / 3 % 2 * 3 : 6) + n % 3];
  }
  [[nodiscard]] static Id id_of(int64_t number) { return Id::of(number / 3); }
  [[nodiscard]] DocumentKey key_of(int64_t number) const { return {home_of(number).get(), id_of(number)}; }
  [[nodiscard]] int64_t number_of(const Chunk& chunk, uint32_t offset) const {
    return chunk.id(offset).integer * 3 + (chunk.scope()->user() ? 1 : 0) + (chunk.scope()->agent() ? 1 : 0);
  }
  [[nodiscard]] static std::string name_of(int64_t number) {
    return word_of('n', static_cast<uint64_t>(number));
  }
  [[nodiscard]] static size_t visible_partitions(const Scope& from, const Scope& owner) {
    return from.tenant() == owner.tenant() && (!owner.user() || owner.user() == from.user()) &&
           (!owner.agent() || owner.agent() == from.agent());
  }

  // A document that was found: its text belongs to its id and scope, its payload to its text.
  void check_document(const Chunk& chunk, uint32_t offset) const {
    const base::EpochGuard guard;
    const int64_t number = number_of(chunk, offset);
    const std::string_view text = chunk.text(offset);
    CHECK(text.starts_with(name_of(number) + " "));
    CHECK(*chunk.scope() == *home_of(number));
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
          upsert(static_cast<int64_t>(random_() % kShared));
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

    std::string text_of(int64_t number, const std::string& payload) {
      std::string text = Soak::name_of(number) + " ";
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

    void upsert(int64_t number) {
      const std::string payload = new_version(), text = text_of(number, payload);
      const std::vector<float> vector = random_() % 4 ? any_vector() : std::vector<float>();
      const DocumentInput input{Soak::id_of(number), text, payload, soak_.home_of(number), vector};
      CHECK_EQ(engine_.upsert({&input, 1}), 1);
    }
    void upsert_many() {
      std::deque<std::string> kept;
      std::vector<DocumentInput> inputs;
      for (int i = 0; i < 30; ++i) {
        const auto number = static_cast<int64_t>(random_() % kShared);
        const std::string& payload = kept.emplace_back(new_version());
        inputs.push_back({Soak::id_of(number),
                          kept.emplace_back(text_of(number, payload)),
                          payload,
                          soak_.home_of(number),
                          {}});
      }
      CHECK(engine_.upsert(inputs) <= 30);
    }
    // No other thread changes it: a search finds what was just written.
    void update_own() {
      const int64_t number =
          kShared + static_cast<int64_t>(number_) * kOwn + static_cast<int64_t>(random_() % kOwn);
      const DocumentKey key = soak_.key_of(number);
      const std::string payload = new_version(), text = text_of(number, payload);
      const std::vector<float> vector = any_vector();
      const DocumentInput input{key.id, text, payload, soak_.home_of(number), vector};
      CHECK_EQ(engine_.upsert({&input, 1}), 1);
      const auto stored = engine_.get(key.id, *key.scope);
      CHECK(stored.has_value());
      if (stored) {
        const base::EpochGuard guard;
        CHECK_EQ(stored->chunk->text(stored->offset), text);
      }
      SearchRequest request;
      request.text = payload;
      request.vector = vector;
      request.scope = key.scope;
      request.recall = 1.0;
      request.k = 1;
      const SearchResult result = engine_.search(request);
      CHECK_EQ(result.hits.size(), 1);
      if (result.hits.size() == 1) {
        const base::EpochGuard guard;
        CHECK_EQ(soak_.number_of(result.chunk_of(result.hits[0]), result.hits[0].offset), number);
      }
      soak_.check_result(result, request);
      if (random_() % 3 != 0) return;
      CHECK_EQ(engine_.remove({&key, 1}), 1);
      const auto other = engine_.get(key.id, *key.scope);  // possibly a shared one of the tenant
      CHECK(!other || !(*other->chunk->scope() == *key.scope));
      CHECK_EQ(engine_.remove({&key, 1}), 0);
      request.vector = {};
      CHECK(engine_.search(request).hits.empty());
    }
    void remove() {
      std::vector<DocumentKey> keys;
      for (uint64_t n = 1 + random_() % 4; n > 0; --n)
        keys.push_back(soak_.key_of(static_cast<int64_t>(random_() % kShared)));
      CHECK(engine_.remove(keys) <= keys.size());
    }
    void get() {
      const DocumentKey key = soak_.key_of(static_cast<int64_t>(random_() % kShared));
      const auto stored = engine_.get(key.id, *key.scope);
      if (!stored) return;
      soak_.check_document(*stored->chunk.get(), stored->offset);
      const base::EpochGuard guard;
      CHECK(stored->chunk->id(stored->offset) == key.id);
      CHECK(visible_partitions(*key.scope, *stored->chunk->scope()));
    }
    void check_stats() {
      const EngineStats all = engine_.stats(nullptr);
      CHECK(all.n_docs <= kShared + kThreads * kOwn);
      CHECK(all.n_vectors <= all.n_docs);
      const EngineStats some = engine_.stats(soak_.scopes_[random_() % kScopes].get());
      CHECK(some.n_partitions <= 3);
      const Scope& scope = *soak_.scopes_[random_() % kScopes];
      CHECK_EQ(engine_.digest(scope).n_miscounted, 0);
      for (const std::string& image : engine_.save_partition(scope)) CHECK(!image.empty());
      CHECK(engine_.count(nullptr) <= kShared + kThreads * kOwn);
    }

    SearchRequest any_request(std::string& text, std::vector<float>& vector) {
      text = random_() % 4 == 0 ? Soak::name_of(static_cast<int64_t>(random_() % kShared)) + " " : "";
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
      std::vector<std::vector<DocumentKey>> rankings(random_() % 4 == 0 ? 1 : 0);
      for (std::vector<DocumentKey>& ranking : rankings) {
        for (int i = 0; i < 10; ++i) {
          ranking.push_back(soak_.key_of(static_cast<int64_t>(random_() % kShared)));
          if (i % 2) ranking.back().scope = nullptr;
        }
      }
      request.rankings = rankings;
      std::optional<filter::IdSet> ids;
      if (random_() % 4 == 0) {
        std::vector<int64_t> some(1 + random_() % 20);
        for (int64_t& id : some) id = static_cast<int64_t>(random_() % (kShared / 3));
        ids.emplace(filter::IdSet::of_integers(some));
        (random_() % 2 ? request.filter.only.ids : request.filter.without.ids) = &*ids;
      }
      const SearchResult result = engine_.search(request);
      soak_.check_result(result, request);
      if (ids) {
        const base::EpochGuard guard;
        for (const Hit& hit : result.hits)
          CHECK_EQ(ids->contains(result.chunk_of(hit).id(hit.offset).integer),
                   request.filter.only.ids != nullptr);
      }
      held_.emplace_back(result);  // read again later, when its chunks may have been compacted
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

  // No thread writes any more: all counts agree, every document is found by its name, and all
  // memory is released.
  void check_at_rest() {
    std::vector<DocumentKey> alive;
    for (int64_t number = 0; number < kShared + static_cast<int64_t>(kThreads) * kOwn; ++number) {
      const DocumentKey key = key_of(number);
      auto stored = engine_.get(key.id, *key.scope);
      if (stored && !(*stored->chunk->scope() == *key.scope)) stored.reset();
      const std::string name = name_of(number);
      SearchRequest request;
      request.text = name;
      request.scope = key.scope;
      CHECK_EQ(engine_.search(request).hits.size(), stored ? 1 : 0);
      if (!stored) continue;
      check_document(*stored->chunk.get(), stored->offset);
      alive.push_back(key);
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

  // Documents that went through all of this have the scores of a fresh engine.
  void check_against_a_fresh_engine(const std::vector<DocumentKey>& alive) {
    Engine fresh(options());
    for (const DocumentKey& key : alive) {
      const auto stored = engine_.get(key.id, *key.scope);
      const base::EpochGuard guard;
      const DocumentInput input{
          key.id, stored->chunk->text(stored->offset), std::nullopt, stored->chunk->scope(), {}};
      CHECK_EQ(fresh.upsert({&input, 1}), 1);
    }
    const auto everything = [](const Engine& engine, const Scope& scope, std::string_view text) {
      SearchRequest request;
      request.text = text;
      request.scope = &scope;
      request.k = 1'000'000;
      const SearchResult result = engine.search(request);
      std::vector<std::pair<double, std::string>> scored;  // with the name of the document
      const base::EpochGuard guard;
      for (const Hit& hit : result.hits) {
        const std::string_view found = result.chunk_of(hit).text(hit.offset);
        scored.emplace_back(hit.score, found.substr(0, found.find(' ')));
      }
      std::sort(scored.begin(), scored.end());  // equal scores are in the order of writing, which differs
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
