// An engine survives any single failing allocation, in every call, with its old content or its new content.
//
// This file replaces operator new for the test program, so that the n-th allocation of a thread can be made
// to fail and live allocations can be counted. Disabled under sanitizers, which have their own, and on
// Windows, where free() does not accept aligned memory.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "allocations.hpp"
#include "base/epoch.hpp"
#include "check.hpp"
#include "engine_model.hpp"
#include "lexical/posting.hpp"
#include "lexical/pruned.hpp"
#include "text/term_key.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SCRUBJAY_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(_WIN32)
#define SCRUBJAY_SANITIZED 1
#endif

#ifndef SCRUBJAY_SANITIZED

namespace {

constexpr int64_t kNever = -1;
thread_local int64_t allocations_until_failure = kNever;
thread_local uint64_t n_allocations = 0;
std::atomic<int64_t> n_live_allocations{0};

// The size that the C library actually allocated, if it tells.
#ifdef __GLIBC__
constexpr bool kKnowsSizes = true;
size_t usable_bytes(void* memory) noexcept { return malloc_usable_size(memory); }
#else
constexpr bool kKnowsSizes = false;
size_t usable_bytes(void*) noexcept { return 0; }
#endif
std::atomic<int64_t> n_live_bytes{0};
void count_bytes(void* memory, int64_t sign) noexcept {
  n_live_bytes.fetch_add(sign * static_cast<int64_t>(usable_bytes(memory) + sizeof(size_t)),
                         std::memory_order_relaxed);
}

// Fails only the allocation that the countdown selects: the cleanup may need memory.
void* allocate(size_t n_bytes, size_t alignment) {
  ++n_allocations;
  if (allocations_until_failure != kNever && allocations_until_failure-- == 0) throw std::bad_alloc();
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(n_bytes == 0 ? 1 : n_bytes)
                     : std::aligned_alloc(alignment, (n_bytes + alignment - 1) / alignment * alignment);
  if (!memory) throw std::bad_alloc();
  n_live_allocations.fetch_add(1, std::memory_order_relaxed);
  count_bytes(memory, 1);
  return memory;
}
void release(void* memory) noexcept {
  if (!memory) return;
  n_live_allocations.fetch_sub(1, std::memory_order_relaxed);
  count_bytes(memory, -1);
  std::free(memory);
}

}  // namespace

void* operator new(size_t n_bytes) { return allocate(n_bytes, 1); }
void* operator new(size_t n_bytes, std::align_val_t alignment) {
  return allocate(n_bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { release(memory); }

std::optional<uint64_t> test_allocations::count() noexcept { return n_allocations; }
std::optional<int64_t> test_allocations::live_bytes() noexcept {
  return kKnowsSizes ? std::optional(n_live_bytes.load(std::memory_order_relaxed)) : std::nullopt;
}

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

const std::optional<std::string_view> kNone;
const ScopeRef kScope = std::make_shared<Scope>("acme", kNone, kNone),
               kOwn = std::make_shared<Scope>("acme", "jane", kNone);

// An operation on an engine, and the same operation on its model.
struct Operation {
  const char* name;
  std::function<void(Engine&)> run;
  std::function<void(Model&)> apply;
  std::function<void(Engine&, Model&)> prepare = {};
};

constexpr int64_t kEmpty = 44;  // without a term or a vector

struct Inputs {
  std::string first = "tea in Berlin sk-stg-0041",
              second = "another document about trains, with a longer-identifier_0042", long_text, nothing,
              payload = R"({"metadata":{"kind":"note","n":7,"tags":["a","b"]}})";
  std::vector<float> a{1, 2, 3}, b{-1, 0.5f, 2};

  Inputs() {
    for (int i = 0; i < 400; ++i) long_text += "word" + std::to_string(i) + " ";
  }
  [[nodiscard]] DocumentInput document(int64_t id) const {
    const ScopeRef& scope = id % 4 == 3 ? kOwn : kScope;
    const std::string& text = id == kEmpty ? nothing : id % 3 == 0 ? first : id % 3 == 1 ? second : long_text;
    return {Id::of(id), text, payload, scope, id % 5 == 4 ? std::span<const float>() : id % 2 ? a : b};
  }
};

void fill(Engine& engine, Model& model, const Inputs& inputs) {
  for (int64_t id = 0; id < 11; ++id) {
    const DocumentInput input = inputs.document(id);
    CHECK_EQ(engine.upsert({&input, 1}), 1);
    model.upsert(input);
  }
  const DocumentKey dead{kScope.get(), Id::of(int64_t{4})};
  CHECK_EQ(engine.remove({&dead, 1}), 1);
  CHECK_EQ(model.remove(*kScope, 4), 1);
}

std::vector<Operation> operations(const Inputs& inputs) {
  std::vector<Operation> all;
  const auto upsert = [&](const char* name, std::vector<std::pair<int64_t, int64_t>> documents) {
    std::vector<DocumentInput> given;  // the documents, each with the content of another one
    for (const auto& [id, as] : documents) {
      given.push_back(inputs.document(as));
      given.back().id = Id::of(id);
      given.back().scope = inputs.document(id).scope;
    }
    all.push_back({name, [given](Engine& e) { static_cast<void>(e.upsert(given)); },
                   [given](Model& m) {
                     for (const DocumentInput& input : given) m.upsert(input);
                   }});
  };
  upsert("upsert of a new document", {{20, 1}});
  upsert("upsert of a long document", {{21, 2}});
  upsert("replacement", {{1, 2}});
  upsert("replacement by a document without a vector", {{3, 4}});
  upsert("upsert of a new document of a new partition", {{23, 2}});
  upsert("replacement by an empty document", {{1, kEmpty}});
  upsert("upsert of many", {{30, 1}, {1, 0}, {33, 2}, {31, 2}});
  upsert("upsert of many in several chunks", {{20, 1},
                                              {21, 0},
                                              {22, 5},
                                              {24, 1},
                                              {25, 2},
                                              {26, 0},
                                              {28, 3},
                                              {29, kEmpty},
                                              {30, 6},
                                              {32, 1},
                                              {33, 9}});
  upsert("replacement of many in several partitions",
         {{0, 1}, {1, 2}, {3, 0}, {7, 5}, {11, 1}, {5, 4}, {6, kEmpty}, {8, 1}, {15, 0}, {9, 2}, {10, 3}});
  all.push_back({"remove",
                 [](Engine& e) {
                   const DocumentKey key{kScope.get(), Id::of(int64_t{2})};
                   static_cast<void>(e.remove({&key, 1}));
                 },
                 [](Model& m) { m.remove(*kScope, 2); }});
  all.push_back({"upsert of one id in several scopes",
                 [&inputs](Engine& e) {
                   std::vector<DocumentInput> given{inputs.document(2), inputs.document(2)};
                   given[1].scope = kOwn;
                   static_cast<void>(e.upsert(given));
                 },
                 [&inputs](Model& m) {
                   DocumentInput input = inputs.document(2);
                   m.upsert(input);
                   input.scope = kOwn;
                   m.upsert(input);
                 }});
  all.push_back({"erase", [](Engine& e) { static_cast<void>(e.erase(*kOwn, true)); },
                 [](Model& m) { m.erase(*kOwn, true); }});
  all.push_back({"compact", [](Engine& e) { static_cast<void>(e.compact()); }, [](Model&) {}});
  all.push_back({"build_graphs", [](Engine& e) { static_cast<void>(e.build_graphs(1)); }, [](Model&) {}});
  const auto later = [&inputs](Model& model, Engine* engine) {
    for (int64_t id = 24; id < 36; ++id) {
      const DocumentInput input = inputs.document(id);
      if (engine) CHECK_EQ(engine->upsert({&input, 1}), 1);
      model.upsert(input);
    }
  };
  all.push_back({"extend graphs", [](Engine& e) { static_cast<void>(e.build_graphs(6, false)); },
                 [later](Model& m) { later(m, nullptr); },
                 [later](Engine& e, Model& before) {
                   CHECK_EQ(e.build_graphs(6), 1);
                   later(before, &e);
                 }});
  all.push_back({"search",
                 [&inputs](Engine& e) {
                   SearchRequest request;
                   request.text = inputs.second;
                   request.vector = inputs.a;
                   request.scope = kOwn.get();
                   request.explain = true;
                   static_cast<void>(e.search(request));
                 },
                 [](Model&) {}});
  all.push_back({"get and stats",
                 [](Engine& e) {
                   static_cast<void>(e.get(Id::of(int64_t{1}), *kOwn));
                   static_cast<void>(e.stats(nullptr));
                 },
                 [](Model&) {}});
  const auto images = std::make_shared<std::vector<std::string>>();
  all.push_back(
      {"save_partition", [](Engine& e) { static_cast<void>(e.save_partition(*kScope)); }, [](Model&) {}});
  all.push_back({"load_partition",
                 [images](Engine& e) {
                   const std::vector<std::string_view> views(images->begin(), images->end());
                   static_cast<void>(e.load_partition(kOwn, views));
                 },
                 [](Model&) {},
                 [images](Engine& e, Model& before) {
                   *images = e.save_partition(*kOwn);
                   CHECK_EQ(e.erase(*kOwn, true), before.erase(*kOwn, true));
                 }});
  const auto in_pieces = std::make_shared<std::vector<std::string>>();
  all.push_back({"load_partition in pieces",
                 [in_pieces](Engine& e) {
                   std::vector<ArrivingImage> arriving;
                   for (const std::string_view image : *in_pieces) {
                     arriving.push_back(e.arriving_image(kOwn, image.size()));
                     for (size_t at = 0; at < image.size(); at += 100)
                       arriving.back().add(image.substr(at, 100));
                   }
                   static_cast<void>(e.load_partition(kOwn, arriving));
                 },
                 [](Model&) {},
                 [in_pieces](Engine& e, Model& before) {
                   *in_pieces = e.save_partition(*kOwn);
                   CHECK_EQ(e.erase(*kOwn, true), before.erase(*kOwn, true));
                 }});
  const auto with_graph = std::make_shared<std::vector<std::string>>();
  all.push_back({"load_partition with a graph",
                 [with_graph](Engine& e) {
                   const std::vector<std::string_view> views(with_graph->begin(), with_graph->end());
                   static_cast<void>(e.load_partition(kScope, views));
                   CHECK(e.graph_state(*kScope) == GraphState::built);
                 },
                 [later](Model& m) { later(m, nullptr); },
                 [with_graph, later](Engine& e, Model& before) {
                   later(before, &e);
                   CHECK_EQ(e.build_graphs(6), 1);
                   *with_graph = e.save_partition(*kScope);
                   CHECK_EQ(e.erase(*kScope, true), before.erase(*kScope, true));
                 }});
  all.push_back({"save_partition with a graph",
                 [](Engine& e) { static_cast<void>(e.save_partition(*kScope)); },
                 [later](Model& m) { later(m, nullptr); },
                 [later](Engine& e, Model& before) {
                   later(before, &e);
                   CHECK_EQ(e.build_graphs(6), 1);
                 }});
  return all;
}

std::string difference(const Engine& engine, const Model& model, const Inputs& inputs) {
  std::string found = difference_of_content(engine, model);
  for (const std::string* text : {&inputs.first, &inputs.second, &inputs.long_text}) {
    SearchRequest request;
    request.text = *text;
    request.vector = inputs.a;
    request.scope = kOwn.get();
    request.recall = 1.0;
    if (found.empty()) found = difference_of_search(engine, model, request);
  }
  return found;
}

// Fills the list of retired objects to its capacity, so that the next one must enlarge it. Enlarges it once,
// to twice its capacity.
struct Filler {};
size_t fill_retired() {
  base::collect_retired();
  // Returns the number of objects until the list grows, to twice its size.
  const auto until_it_grows = [] {
    for (size_t n = 1;; ++n) {
      const uint64_t before = n_allocations;
      base::retire(std::make_unique<Filler>());
      if (n_allocations - before == 2) return n;
    }
  };
  static_cast<void>(until_it_grows());
  const size_t half = until_it_grows();
  for (size_t i = 1; i < 2 * half; ++i) base::retire(std::make_unique<Filler>());
  return base::n_retired();
}

// Fails the first, the second, the third ... allocation of an operation, each time on a fresh engine.
void check_operation(const Operation& operation, const Inputs& inputs) {
  for (int64_t n = 0; n < 5000; ++n) {
    EngineOptions options;
    options.chunk_docs = 5;
    options.dim = 3;
    Engine engine(options);
    Model before(options), after(options);
    fill(engine, before, inputs);
    {
      Engine other(options);
      fill(other, after, inputs);
    }
    operation.apply(after);
    if (operation.prepare) operation.prepare(engine, before);
    bool failed = false;
    try {
      allocations_until_failure = n;
      operation.run(engine);
      allocations_until_failure = kNever;
    } catch (const std::bad_alloc&) {
      allocations_until_failure = kNever;
      failed = true;
    }
    const std::string as_before = difference(engine, before, inputs),
                      as_after = difference(engine, after, inputs);
    const bool whole = failed ? as_before.empty() || as_after.empty() : as_after.empty();
    if (!whole) {
      scrubjay::check::fail(__FILE__, __LINE__,
                            std::string(operation.name) + ", allocation " + std::to_string(n) +
                                (failed ? " failed: " : ": ") + as_before + " / " + as_after);
      return;
    }
    if (!failed) return;
    try {
      operation.run(engine);  // must succeed now
    } catch (const std::exception& error) {
      scrubjay::check::fail(__FILE__, __LINE__,
                            std::string(operation.name) + ", again after allocation " + std::to_string(n) +
                                ": " + error.what());
      return;
    }
    const std::string again =
        as_before.empty() ? difference(engine, after, inputs) : difference_of_content(engine, after);
    if (!again.empty()) {
      scrubjay::check::fail(
          __FILE__, __LINE__,
          std::string(operation.name) + ", again after allocation " + std::to_string(n) + ": " + again);
      return;
    }
  }
  CHECK(false);  // it never ends
}

int64_t live_after(const std::function<void()>& work) {
  std::thread(work).join();  // the thread's scratch buffers end with it
  base::collect_retired();
  return n_live_allocations.load();
}

}  // namespace

TEST(engine_survives_every_allocation_that_fails) {
  const Inputs inputs;
  const std::vector<Operation> all = operations(inputs);
  for (const Operation& operation : all) {
    const auto work = [&] { check_operation(operation, inputs); };
    const int64_t first = live_after(work), second = live_after(work);
    CHECK_EQ(first, second);  // no leak
    if (first != second) scrubjay::check::fail(__FILE__, __LINE__, operation.name);
  }
}

// A reader keeps everything from being freed, and the list of retired objects is full whenever
// an operation begins.
TEST(engine_survives_a_failed_retirement) {
  const Inputs inputs;
  for (const Operation& operation : operations(inputs)) {
    const std::string_view name = operation.name;
    if (name != "replacement by an empty document" && name != "remove") continue;
    const base::EpochGuard reader;
    EngineOptions options;
    options.chunk_docs = 5;
    options.dim = 3;
    Engine engine(options);
    Model before(options), after(options);
    fill(engine, before, inputs);
    {
      Engine other(options);
      fill(other, after, inputs);
    }
    operation.apply(after);
    size_t n_full = 0;
    bool failed = true;
    for (int64_t attempt = 0; failed; ++attempt) {
      // Memory that one attempt has grown need not grow again, so each position is tried three times.
      const int64_t n = attempt / 3;
      if (base::n_retired() != n_full) n_full = fill_retired();
      failed = false;
      try {
        allocations_until_failure = n;
        operation.run(engine);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allocations_until_failure = kNever;
      const std::string as_before = difference(engine, before, inputs),
                        as_after = difference(engine, after, inputs);
      if (failed && as_before.empty()) continue;
      if (!as_after.empty())
        scrubjay::check::fail(__FILE__, __LINE__,
                              std::string(name) + ", allocation " + std::to_string(n) +
                                  (failed ? " failed: " : ": ") + as_before + " / " + as_after);
      break;
    }
  }
  base::collect_retired();
  CHECK_EQ(base::n_retired(), 0);
}

// The scratch that a search leaves when an allocation fails must not affect the next search of the thread.
TEST(pruned_search_survives_every_allocation_that_fails) {
  namespace lexical = scrubjay::lexical;
  const uint32_t n_docs = 9000;
  const std::string terms[] = {"everywhere", "often", "rare"};
  lexical::PostingTable table;
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    for (uint32_t t = 0; t < 3; ++t) {
      if (doc % (t == 0 ? 1 : t == 1 ? 7 : 900) != 0) continue;
      const uint16_t payload = lexical::pack_payload(1 + doc % 3, 1 + doc % 20);
      table.append(scrubjay::text::term_key(terms[t]), terms[t], static_cast<uint16_t>(doc), payload,
                   nullptr);
    }
  }
  const base::EpochGuard guard;
  for (const std::vector<uint32_t>& which : {std::vector<uint32_t>{0, 1, 2}, {2}, {1, 2}}) {
    for (const size_t k : {size_t{5}, size_t{3000}}) {
      std::vector<lexical::TermPostings> postings(which.size());
      std::vector<uint64_t> dfs;
      for (size_t t = 0; t < which.size(); ++t) {
        const std::string& term = terms[which[t]];
        table.find(scrubjay::text::term_key(term), term, n_docs, nullptr, postings[t]);
        dfs.push_back(postings[t].n);
      }
      const std::vector<uint32_t> counts(which.size(), 1);
      const lexical::ChunkPostings chunk{n_docs, nullptr, postings.data()};
      lexical::Weighting weighting;
      weighting.prepare({}, {n_docs, uint64_t{10} * n_docs}, dfs, counts, 20);
      const lexical::Query query{{&chunk, 1}, counts, &weighting};
      base::TopK expected;
      expected.reset(k);
      lexical::search_exhaustively(query, expected);
      bool failed = true;
      for (int64_t n = 0; failed; ++n) {
        lexical::PrunedSearch search;
        base::TopK interrupted, best;
        interrupted.reset(k);
        failed = false;
        try {
          allocations_until_failure = n;
          search.run(query, interrupted);
        } catch (const std::bad_alloc&) {
          failed = true;
        }
        allocations_until_failure = kNever;
        best.reset(k);
        search.run(query, best);
        CHECK(best.finish() == expected.finish());
      }
    }
  }
  base::collect_retired();
}

#else

std::optional<uint64_t> test_allocations::count() noexcept { return std::nullopt; }
std::optional<int64_t> test_allocations::live_bytes() noexcept { return std::nullopt; }

TEST(engine_survives_every_allocation_that_fails) { SKIP("the sanitizer has its own operator new"); }

#endif
