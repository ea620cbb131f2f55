// Every search sees one state of a partition while a writer replaces documents in it continuously.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
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
constexpr int64_t kFixed = 1, kChanging = 2, kBystander = 3;
constexpr const char* kFixedText = "common river";
// The second version is longer and also contains the common word: N, df and the average length differ.
constexpr const char* kVersions[] = {"alpha stone", "beta common stone stone hill hill tree"};

const ScopeRef kShared = std::make_shared<Scope>("acme", kNone, kNone),
               kOwn = std::make_shared<Scope>("acme", "jane", kNone);

// A quarter of SCRUBJAY_SOAK_SECONDS (default 2) for each case: only a preemption at the wrong moment would
// show inconsistent states.
std::chrono::duration<double> duration() {
  const char* given = std::getenv("SCRUBJAY_SOAK_SECONDS");
  return std::chrono::duration<double>(given ? std::atof(given) / 4 : 0.5);
}

EngineOptions small_chunks(uint32_t chunk_docs) {
  EngineOptions options;
  options.chunk_docs = chunk_docs;
  options.dim = 2;
  return options;
}

void write(Engine& engine, int64_t id, std::string_view text, std::vector<float> vector,
           const ScopeRef& scope = kShared) {
  const DocumentInput input{Id::of(id), text, std::nullopt, scope, vector};
  CHECK_EQ(engine.upsert({&input, 1}), 1);
}
void write_version(Engine& engine, size_t version) {
  write(engine, kChanging, kVersions[version],
        version == 0 ? std::vector<float>{1, 0} : std::vector<float>{0, 1});
}

std::map<int64_t, std::pair<std::string, Hit>> found_by(const Engine& engine, const Scope& scope,
                                                        std::string_view text, bool with_vector) {
  const float vector[] = {1, 1};
  SearchRequest request;
  request.text = text;
  if (with_vector) request.vector = vector;
  request.scope = &scope;
  const SearchResult result = engine.search(request);
  std::map<int64_t, std::pair<std::string, Hit>> found;
  const base::EpochGuard guard;
  for (const Hit& hit : result.hits) {
    const Chunk& chunk = result.chunk_of(hit);
    const bool inserted =
        found.try_emplace(chunk.id(hit.offset).integer, std::string(chunk.text(hit.offset)), hit).second;
    CHECK(inserted);  // never both versions
  }
  return found;
}

}  // namespace

TEST(snapshot_shows_exactly_one_version_of_an_updated_document) {
  for (const uint32_t chunk_docs : {1u, 2u, 3u, kMaxChunkDocs}) {
    double fixed_scores[2];  // of the unchanging document with either version
    for (size_t version : {0, 1}) {
      Engine quiet(small_chunks(chunk_docs));
      write(quiet, kFixed, kFixedText, {1, 1});
      write(quiet, kBystander, "quiet words", {}, kOwn);
      write_version(quiet, version);
      fixed_scores[version] = found_by(quiet, *kOwn, "common", false).at(kFixed).second.bm25;
    }
    CHECK(fixed_scores[0] != fixed_scores[1]);

    Engine engine(small_chunks(chunk_docs));
    write(engine, kFixed, kFixedText, {1, 1});
    write(engine, kBystander, "quiet words", {}, kOwn);
    write_version(engine, 0);
    std::atomic<bool> done{false};
    std::atomic<uint64_t> n_seen[2] = {};
    std::vector<std::thread> readers;
    for (int r = 0; r < 3; ++r) {
      readers.emplace_back([&, r] {
        while (!done.load()) {
          const auto found = found_by(engine, r == 0 ? *kShared : *kOwn, "alpha beta common", r != 1);
          CHECK(found.contains(kFixed) && found.contains(kChanging));  // never neither
          if (!found.contains(kFixed) || !found.contains(kChanging)) return;
          const std::string& text = found.at(kChanging).first;
          const size_t version = text == kVersions[0] ? 0 : 1;
          CHECK_EQ(text, kVersions[version]);
          ++n_seen[version];
          // The statistics are those of the version seen: its length and terms only.
          const double score = found.at(kFixed).second.bm25;
          if (r != 0) CHECK_EQ(score, fixed_scores[version]);
          if (r != 1) CHECK(std::abs(found.at(kChanging).second.similarity - 0.70710678) < 1e-3);
          CHECK_EQ(engine.count(kOwn.get()), 3);
          const auto stored = engine.get(Id::of(kChanging), *kOwn);
          CHECK(stored.has_value());
          const base::EpochGuard guard;
          const std::string_view current = stored->chunk->text(stored->offset);
          CHECK(current == kVersions[0] || current == kVersions[1]);
        }
      });
    }
    const auto end = std::chrono::steady_clock::now() + duration();
    for (size_t step = 1; std::chrono::steady_clock::now() < end; ++step) {
      write_version(engine, step % 2);
      if (step % 200 == 0) static_cast<void>(engine.compact());
      if (step % 333 == 0) static_cast<void>(engine.build_graphs(1, step % 2 == 0));
    }
    done.store(true);
    for (std::thread& reader : readers) reader.join();
    CHECK(n_seen[0] > 0 && n_seen[1] > 0);
    CHECK_EQ(engine.count(nullptr), 3);
  }
  base::collect_retired();
  CHECK_EQ(base::n_retired(), 0);
}

// A document that exists or not: its terms, its length and its count appear and disappear together.
TEST(snapshot_shows_a_deleted_document_wholly_or_not_at_all) {
  double fixed_scores[2];
  for (size_t present : {0, 1}) {
    Engine quiet(small_chunks(2));
    write(quiet, kFixed, kFixedText, {1, 1});
    if (present) write_version(quiet, 1);
    fixed_scores[present] = found_by(quiet, *kShared, "common", false).at(kFixed).second.bm25;
  }
  Engine engine(small_chunks(2));
  write(engine, kFixed, kFixedText, {1, 1});
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      while (!done.load()) {
        const auto found = found_by(engine, *kShared, "common", false);
        CHECK(found.contains(kFixed));
        if (found.contains(kFixed))
          CHECK_EQ(found.at(kFixed).second.bm25, fixed_scores[found.contains(kChanging)]);
        const size_t count = engine.count(kShared.get());
        CHECK(count == 1 || count == 2);
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + duration();
  const DocumentKey changing{kShared.get(), Id::of(kChanging)};
  for (size_t step = 0; std::chrono::steady_clock::now() < end; ++step) {
    write_version(engine, 1);
    CHECK(engine.get(changing.id, *kShared).has_value());
    CHECK_EQ(found_by(engine, *kShared, "beta", false).size(), 1);  // visible as soon as the write returned
    CHECK_EQ(engine.remove({&changing, 1}), 1);
    CHECK(!engine.get(changing.id, *kShared).has_value());
    CHECK(found_by(engine, *kShared, "beta", false).empty());
    if (step % 100 == 99) static_cast<void>(engine.compact());
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}

// What one scope erases is gone at once; searches of a neighbour are unaffected.
TEST(erasing_leaves_snapshots_of_other_scopes_unchanged) {
  const ScopeRef other = std::make_shared<Scope>("globex", kNone, kNone);
  Engine engine(small_chunks(2));
  for (int64_t id = 0; id < 5; ++id) write(engine, id, kFixedText, {1, 1});
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      double score = 0.0;
      while (!done.load()) {
        const auto found = found_by(engine, *kShared, "common river", true);
        CHECK_EQ(found.size(), 5);
        if (found.size() != 5) return;
        if (score == 0.0) score = found.at(0).second.bm25;
        CHECK_EQ(found.at(0).second.bm25, score);  // statistics are those of the own scope
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + duration();
  while (std::chrono::steady_clock::now() < end) {
    for (int64_t id = 10; id < 17; ++id) write(engine, id, "common river common", {1, 0}, other);
    CHECK_EQ(engine.count(other.get()), 7);
    CHECK_EQ(engine.erase(*other, false), 7);
    CHECK_EQ(engine.count(other.get()), 0);
    CHECK(found_by(engine, *other, "common", true).empty());
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}
