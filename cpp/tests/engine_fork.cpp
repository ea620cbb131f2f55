// An engine stays usable in the child of a fork, whatever its upkeep and writers were doing.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)  // TSan refuses threads after a fork with threads
#include <sys/wait.h>
#include <unistd.h>

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

const std::optional<std::string_view> kNone;
const ScopeRef& home() {
  static const ScopeRef scope = std::make_shared<Scope>("acme", "jane", kNone);
  return scope;
}

void write(Engine& engine, int64_t id, int version) {
  const std::string text = "oak w" + std::to_string(id) + " v" + std::to_string(version);
  const std::vector<float> vector{1.0f, static_cast<float>(version % 97), static_cast<float>(id % 7), 0.5f};
  const DocumentInput input{Id::of(id), text, std::nullopt, home(), vector};
  static_cast<void>(engine.upsert({&input, 1}));
}
bool remove(Engine& engine, int64_t id) {
  const DocumentKey removed{home().get(), Id::of(id)};
  return engine.remove({&removed, 1}) == 1;
}

std::unique_ptr<Engine> filled() {
  EngineOptions options;
  options.dim = 4;
  options.background = true;
  options.chunk_docs = 512;
  options.graph_bytes = 1;
  auto engine = std::make_unique<Engine>(std::move(options));
  for (int64_t id = 0; id < 2000; ++id) write(*engine, id, 0);
  return engine;
}

// Everything that takes a lock, and the thread of upkeep.
bool goes_on(Engine& engine) {
  for (int64_t id = 5000; id < 5300; ++id) write(engine, id, 1);
  for (int64_t id = 5000; id < 5300; id += 2)
    if (!remove(engine, id)) return false;
  if (!engine.get(Id::of(int64_t{5001}), *home()) || engine.get(Id::of(int64_t{5000}), *home())) return false;
  static_cast<void>(engine.compact());
  static_cast<void>(engine.build_graphs(1));
  const Digest digest = engine.digest(*home());
  if (digest.n_miscounted != 0 || digest.n_docs != engine.count(nullptr)) return false;
  const std::vector<std::string> images = engine.save_partition(*home());
  const std::vector<std::string_view> views(images.begin(), images.end());
  return engine.erase(*home(), true) == digest.n_docs &&
         engine.load_partition(home(), views) == digest.n_docs;
}

template <class Work>
int in_child(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace

TEST(an_engine_goes_on_in_a_child_and_in_the_parent) {
#if defined(__SANITIZE_ADDRESS__)
  SKIP("the sanitizer's allocator keeps a lock in the child that another thread held at the fork");
#endif
  std::unique_ptr<Engine> engine = filled();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int64_t first : {0, 1000}) {
    threads.emplace_back([&, first] {
      for (int version = 1; !stop.load(); ++version) {
        write(*engine, first + version % 900, version);
        if (version % 5 == 0) static_cast<void>(remove(*engine, first + (version * 31) % 900));
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) static_cast<void>(engine->compact());
  });
  threads.emplace_back([&] {
    while (!stop.load()) {
      const base::EpochGuard guard;
      static_cast<void>(engine->get(Id::of(int64_t{3}), *home()));
    }
  });
  for (int round = 0; round < 10; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_EQ(in_child([&] {
               const bool right = goes_on(*engine);
               engine.reset();
               return right;
             }),
             0);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK(goes_on(*engine));
}

TEST(forked_child_gets_an_error_for_an_interrupted_writer) {
  std::atomic<bool> stop{false}, stemming{false};
  EngineOptions options;
  options.analyzer = {"own", [&](std::string_view word) {
                        if (word == "wait") {
                          stemming.store(true);
                          while (!stop.load()) std::this_thread::yield();
                        }
                        return std::string(word);
                      }};
  Engine engine(std::move(options));
  write(engine, 1, 0);
  std::thread stuck([&] {
    const DocumentInput input{Id::of(int64_t{2}), "wait", std::nullopt, home(), {}};
    static_cast<void>(engine.upsert({&input, 1}));
  });
  while (!stemming.load()) std::this_thread::yield();
  CHECK_EQ(in_child([&] {
             SearchRequest request;
             request.text = "oak";
             request.scope = home().get();
             request.semantic = false;
             if (engine.search(request).hits.size() != 1) return false;
             try {
               write(engine, 3, 0);  // unless stemming holds no lock
               if (engine.count(nullptr) != 2) return false;
             } catch (const base::Error&) {
             }
             return engine.search(request).hits.size() != 0;
           }),
           0);
  stop.store(true);
  stuck.join();
  CHECK_EQ(engine.count(nullptr), 2);
}

#endif
