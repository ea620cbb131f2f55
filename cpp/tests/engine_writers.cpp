// Concurrent writers: which wait for each other, and what a failed batch leaves.
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;
namespace text = scrubjay::text;

namespace {

using Clock = std::chrono::steady_clock;
const std::optional<std::string_view> kNone;
const ScopeRef kAcme = std::make_shared<Scope>("acme", kNone, kNone),
               kJane = std::make_shared<Scope>("acme", "jane", kNone),
               kGlobex = std::make_shared<Scope>("globex", kNone, kNone);

DocumentInput input_of(int64_t id, std::string_view text, const ScopeRef& scope,
                       std::span<const float> vector = {}) {
  return {Id::of(id), text, {}, scope, vector};
}

bool wait_for(const std::atomic<bool>& flag) {
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!flag.load() && Clock::now() < end) std::this_thread::yield();
  return flag.load();
}

bool same(const Digest& a, const Digest& b) {
  return a.n_docs == b.n_docs && a.n_postings == b.n_postings && a.n_vectors == b.n_vectors &&
         a.total_length == b.total_length && a.documents == b.documents && a.postings == b.postings &&
         a.vectors == b.vectors && a.n_miscounted == b.n_miscounted;
}

}  // namespace

// While a text of one scope is analysed, every kind of write to another scope proceeds.
TEST(writers_do_not_wait_for_the_texts_of_strangers) {
  std::atomic<bool> analysing{false}, done{false};
  bool in_time = false;
  EngineOptions options;
  options.analyzer.name = "gated";
  options.analyzer.stemmer = [&](std::string_view word) {
    if (word == "gate") {
      analysing.store(true);
      in_time = wait_for(done);
    }
    return std::string(word);
  };
  Engine engine(options);
  std::thread stranger([&] {
    const std::vector<DocumentInput> batch{input_of(1, "one", kAcme), input_of(2, "gate", kJane)};
    CHECK_EQ(engine.upsert(batch), 2);
  });
  CHECK(wait_for(analysing));
  for (int64_t id = 10; id < 20; ++id) {
    const DocumentInput input = input_of(id, "tea", kGlobex);
    CHECK_EQ(engine.upsert({&input, 1}), 1);
    CHECK_EQ(engine.upsert({&input, 1}), 1);
  }
  const DocumentKey key{kGlobex.get(), Id::of(int64_t{10})};
  CHECK_EQ(engine.remove({&key, 1}), 1);
  CHECK_EQ(engine.compact(), 11);
  CHECK_EQ(engine.stats(nullptr).n_docs, 9);
  CHECK_EQ(engine.digest(*kGlobex).n_docs, 9);
  const std::vector<std::string> images = engine.save_partition(*kGlobex);
  CHECK_EQ(engine.erase(*kGlobex, true), 9);
  const std::vector<std::string_view> views(images.begin(), images.end());
  CHECK_EQ(engine.load_partition(kGlobex, views), 9);
  CHECK_EQ(engine.count(nullptr), 9);
  done.store(true);
  stranger.join();
  CHECK(in_time);
  CHECK_EQ(engine.count(nullptr), 11);
}

// A batch of documents that are new to a partition appears as a whole, in several chunks, too.
TEST(batches_of_new_documents_appear_at_once) {
  constexpr size_t kBatch = 50, kBatches = 200;
  EngineOptions options;
  options.chunk_docs = 16;
  Engine engine(options);
  std::atomic<bool> done{false};
  size_t n_looks = 0, n_torn = 0;
  std::thread reader([&] {
    while (!done.load()) {
      ++n_looks;
      if (engine.count(kAcme.get()) % kBatch != 0) ++n_torn;
    }
  });
  for (size_t b = 0; b < kBatches; ++b) {
    std::vector<DocumentInput> batch;
    for (size_t i = 0; i < kBatch; ++i)
      batch.push_back(input_of(static_cast<int64_t>(b * kBatch + i), "tea in Berlin", kAcme));
    CHECK_EQ(engine.upsert(batch), kBatch);
  }
  done.store(true);
  reader.join();
  CHECK(n_looks > 0);
  CHECK_EQ(n_torn, 0);
}

// Three scopes write the same ids at once, one of them in the batches of both writers: no write is rejected,
// and documents that both write are one document.
TEST(batches_of_the_same_ids_do_not_meet_in_other_scopes) {
  constexpr int64_t kIds = 40;
  for (int round = 0; round < 200; ++round) {
    EngineOptions options;
    options.chunk_docs = 7;
    Engine engine(options);
    std::atomic<int> n_ready{0};
    const auto write = [&](const ScopeRef& scope, bool backwards) {
      std::vector<DocumentInput> batch;
      for (int64_t i = 0; i < kIds; ++i) {
        const int64_t id = backwards ? kIds - 1 - i : i;
        batch.push_back(input_of(id, "tea and trains", scope));
        batch.push_back(input_of(id, "tea and trains", kJane));
      }
      ++n_ready;
      while (n_ready.load() < 2) {
      }
      CHECK_EQ(engine.upsert(batch), 2 * kIds);
    };
    std::thread other([&] { write(kGlobex, true); });
    write(kAcme, false);
    other.join();
    CHECK_EQ(engine.count(nullptr), 3 * kIds);
    CHECK_EQ(engine.count(kAcme.get()), kIds);
    CHECK_EQ(engine.count(kGlobex.get()), kIds);
    CHECK_EQ(engine.count(kJane.get()), 2 * kIds);
    CHECK_EQ(engine.stats(nullptr).n_docs, 3 * kIds);
    CHECK_EQ(engine.stats(nullptr).n_dead, kIds);
    for (const ScopeRef& scope : {kAcme, kGlobex, kJane}) {
      CHECK_EQ(engine.digest(*scope).n_miscounted, 0);
      for (int64_t id = 0; id < kIds; ++id) {
        const auto stored = engine.get(Id::of(id), *scope);
        CHECK(stored && *stored->chunk->scope() == *scope);
      }
    }
  }
}

// A batch that fails midway leaves nothing behind, in any structure that a later write uses.
TEST(batches_that_fail_leave_nothing) {
  struct Refused {};
  EngineOptions options;
  options.chunk_docs = 5;
  options.dim = 2;
  options.analyzer.name = "moody";
  options.analyzer.stemmer = [](std::string_view word) -> std::string {
    if (word == "boom") throw Refused();
    return std::string(word);
  };
  Engine engine(options), twin(options);
  const std::vector<float> vector{1, 2};
  const std::string payload = R"({"metadata":{"kind":"note","n":7,"tags":["a","b"]}})";
  const auto batch_of = [&](int64_t first, int64_t n, const char* last) {
    std::vector<DocumentInput> batch;
    for (int64_t id = first; id < first + n; ++id) {
      const ScopeRef& scope = id % 3 == 0 ? kJane : kAcme;
      batch.push_back({Id::of(id), id == first + n - 1 ? last : "tea a-rather-long-identifier", payload,
                       scope, id % 2 == 0 ? std::span<const float>(vector) : std::span<const float>()});
    }
    return batch;
  };
  const DocumentInput other = input_of(1000, "theirs", kGlobex);
  for (Engine* each : {&engine, &twin}) {
    CHECK_EQ(each->upsert(batch_of(0, 13, "coffee")), 13);
    CHECK_EQ(each->upsert({&other, 1}), 1);
  }
  const Digest before = engine.digest(*kAcme), of_jane = engine.digest(*kJane);
  const EngineStats stats = engine.stats(nullptr);
  for (int64_t i = 0; i < 10; ++i) {
    CHECK_THROWS(engine.upsert(batch_of(5, 20, "boom")), Refused);
    std::vector<DocumentInput> wrong = batch_of(5, 20, "coffee");
    const std::vector<float> zeros{0, 0};
    wrong.push_back(input_of(1000, "ours", kAcme, zeros));
    CHECK_THROWS(engine.upsert(wrong), base::InvalidArgument);
  }
  CHECK(same(engine.digest(*kAcme), before));
  CHECK(same(engine.digest(*kJane), of_jane));
  CHECK_EQ(engine.stats(nullptr).n_docs, stats.n_docs);
  CHECK_EQ(engine.stats(nullptr).n_dead, stats.n_dead);
  CHECK_EQ(engine.stats(nullptr).n_postings, stats.n_postings);
  CHECK_EQ(engine.stats(nullptr).n_vectors, stats.n_vectors);
  CHECK_EQ(engine.stats(nullptr).n_partitions, stats.n_partitions);
  CHECK_EQ(engine.count(nullptr), 14);
  for (Engine* each : {&engine, &twin}) CHECK_EQ(each->upsert(batch_of(5, 20, "coffee")), 20);
  for (const ScopeRef& scope : {kAcme, kJane}) CHECK(same(engine.digest(*scope), twin.digest(*scope)));
}

// The checked copy is the one that is stored, even if another thread changes the caller's array meanwhile.
TEST(vectors_that_change_meanwhile_bring_no_nan_in) {
#if defined(__SANITIZE_THREAD__)
  SKIP("the race that it makes is the caller's");
#endif
  constexpr uint32_t kDim = 64;
#if defined(__SANITIZE_ADDRESS__)
  constexpr int64_t kIds = 3000;  // each takes ten times as long
#else
  constexpr int64_t kIds = 20000;
#endif
  EngineOptions options;
  options.dim = kDim;
  Engine engine(options);
  std::vector<float> array(kDim, 1.0f);
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (uint32_t i = 0; !done.load(); ++i) {
      std::atomic_ref<float> element(array[i % kDim]);
      element.store(std::numeric_limits<float>::quiet_NaN(), std::memory_order_relaxed);
      element.store(1.0f, std::memory_order_relaxed);
      if (i % 64 == 0) std::this_thread::yield();
    }
  });
  size_t n_written = 0;
  for (int64_t id = 0; id < kIds; ++id) {
    const DocumentInput input = input_of(id, "tea", kAcme, array);
    try {
      n_written += engine.upsert({&input, 1});
    } catch (const base::InvalidArgument&) {
    }
    SearchRequest request;
    request.scope = kAcme.get();
    request.vector = array;
    request.k = 3;
    try {
      for (const Hit& hit : engine.search(request).hits) CHECK(std::isfinite(hit.score));
    } catch (const base::InvalidArgument&) {
    }
  }
  done.store(true);
  other.join();
  CHECK(n_written > 0);
  std::vector<float> stored(kDim);
  for (int64_t id = 0; id < kIds; ++id) {
    const auto document = engine.get(Id::of(id), *kAcme);
    if (!document) continue;
    const base::EpochGuard guard;
    document->chunk->vectors()->read(document->offset, stored);
    for (const float element : stored) CHECK(std::isfinite(element));
  }
}

TEST(huge_documents_are_refused_by_name) {
  Engine engine{EngineOptions()};
  const auto message = [&](const std::vector<DocumentInput>& inputs) -> std::string {
    try {
      engine.upsert(inputs);
    } catch (const base::InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const std::string large(kMaxTextBytes, ' '), too_large(kMaxTextBytes + 1, ' ');
  CHECK_EQ(message({input_of(1, too_large, kAcme)}),
           "text: expected at most 16777216 bytes (16 MiB), got 16777217");
  CHECK_EQ(message({input_of(1, large, kAcme)}), "");
  DocumentInput input = input_of(2, "tea", kAcme);
  input.payload = too_large;
  CHECK_EQ(message({input_of(1, "tea", kAcme), input}),
           "payloads[1]: expected at most 16777216 bytes (16 MiB), got 16777217");
  std::string phrases;
  for (size_t i = 0; i < text::kMaxTokens / 4 + 1; ++i) phrases += "\xef\xb7\xba";
  CHECK_EQ(message({input_of(1, "tea", kAcme), input_of(2, phrases, kAcme)}).substr(0, 40),
           std::string("texts[1]: expected at most 67108864 bytes between").substr(0, 40));
  std::string separated;
  for (size_t i = 0; i < text::kMaxTokens / 4 + 1; ++i) separated += "\xef\xb7\xba ";
  CHECK_EQ(message({input_of(2, separated, kAcme)}),
           "text: expected at most 8388608 tokens (words and parts of identifiers), got more");
  CHECK_EQ(engine.count(nullptr), 1);
  SearchRequest request;
  request.scope = kAcme.get();
  request.text = too_large;
  CHECK_THROWS(engine.search(request), base::InvalidArgument);
  request.text = separated;
  CHECK_THROWS(engine.search(request), base::InvalidArgument);
}
