// The key of a document is (exact scope, id): reads find the most specific document visible from
// their scope, writes touch exactly the document that they name, and one id in several scopes is
// several documents everywhere.
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/id_map.hpp"
#include "engine/partition_table.hpp"
#include "engine_model.hpp"
#include "filter/language.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;
namespace filter = scrubjay::filter;

namespace {

const std::optional<std::string_view> kNone;
const ScopeRef kTenant = std::make_shared<Scope>("acme", kNone, kNone),
               kUser = std::make_shared<Scope>("acme", "jane", kNone),
               kAgent = std::make_shared<Scope>("acme", kNone, "bot"),
               kBoth = std::make_shared<Scope>("acme", "jane", "bot"),
               kOther = std::make_shared<Scope>("globex", "jane", "bot");
// Most specific first, as found by a reader of kBoth.
const ScopeRef kVisible[] = {kBoth, kUser, kAgent, kTenant};

EngineOptions small_chunks(uint32_t chunk_docs = 4) {
  EngineOptions options;
  options.chunk_docs = chunk_docs;
  return options;
}

// An engine and its model, with the same operations.
struct Twins {
  EngineOptions options = small_chunks();
  Engine engine{options};
  Model model{options};

  void write(int64_t id, const ScopeRef& scope, std::string_view text = "tea",
             std::optional<std::string_view> payload = std::nullopt) {
    const DocumentInput input{Id::of(id), text, payload, scope, {}};
    CHECK_EQ(engine.upsert({&input, 1}), 1);
    model.upsert(input);
  }
  size_t remove(int64_t id, const ScopeRef& scope) {
    const DocumentKey key{scope.get(), Id::of(id)};
    const size_t n = engine.remove({&key, 1});
    CHECK_EQ(n, model.remove(*scope, id));
    return n;
  }
  void check() const { CHECK_EQ(difference_of_content(engine, model), ""); }
};

// The scope of the document that a reader gets; null: no document.
ScopeRef owner_of(const Engine& engine, int64_t id, const ScopeRef& from) {
  const auto stored = engine.get(Id::of(id), *from);
  return stored ? stored->chunk->scope() : nullptr;
}
bool is(const ScopeRef& a, const ScopeRef& b) { return a && *a == *b; }

std::vector<std::string_view> views(const std::vector<std::string>& images) {
  return {images.begin(), images.end()};
}

SearchResult ranked(const Engine& engine, const ScopeRef& from,
                    const std::vector<std::vector<DocumentKey>>& rankings,
                    const DocumentFilter& filter = {}) {
  SearchRequest request;
  request.scope = from.get();
  request.lexical = request.semantic = false;
  request.rankings = rankings;
  request.filter = filter;
  return engine.search(request);
}

}  // namespace

TEST(keys_of_one_id_in_several_scopes_are_several_documents) {
  Twins t;
  for (const ScopeRef& scope : {kTenant, kUser, kAgent, kBoth, kOther}) {
    for (int64_t id = 0; id < 30; ++id) t.write(id, scope, id % 2 ? "tea" : "coffee for all of them");
  }
  t.check();
  CHECK_EQ(t.engine.count(nullptr), 150);
  CHECK_EQ(t.engine.count(kBoth.get()), 120);
  for (int64_t id = 0; id < 30; id += 3) t.write(id, kUser, "replaced in one of them");
  CHECK_EQ(t.engine.stats(nullptr).n_dead, 10);
  t.check();
  SearchRequest request;
  request.text = "replaced tea";
  request.k = 200;
  for (const ScopeRef& scope : {kTenant, kUser, kAgent, kBoth, kOther}) {
    request.scope = scope.get();
    CHECK_EQ(difference_of_search(t.engine, t.model, request), "");
  }
}

TEST(keys_in_one_batch_are_told_apart) {
  Engine engine(small_chunks());
  std::vector<DocumentInput> batch;
  for (const char* text : {"first", "second", "last"}) {
    for (const ScopeRef& scope : kVisible) batch.push_back({Id::of(int64_t{7}), text, {}, scope, {}});
    // The same scope as another object.
    batch.push_back({Id::of(int64_t{7}), text, {}, std::make_shared<Scope>("globex", "jane", "bot"), {}});
  }
  CHECK_EQ(engine.upsert(batch), 5);
  CHECK_EQ(engine.count(nullptr), 5);
  CHECK_EQ(engine.stats(nullptr).n_dead, 0);
  for (const ScopeRef& scope : {kTenant, kUser, kAgent, kBoth, kOther}) {
    const auto stored = engine.get(Id::of(int64_t{7}), *scope);
    CHECK(stored && *stored->chunk->scope() == *scope);
    const base::EpochGuard guard;
    CHECK_EQ(stored->chunk->text(stored->offset), "last");
  }
}

// For every set of scopes that hold the id. In particular (tenant, user) comes before (tenant, agent).
TEST(keys_conditional_writes_hold_in_the_writers_turn) {
  Engine engine(small_chunks());
  const auto write = [&](std::vector<DocumentInput> batch) { return engine.write(batch); };
  const auto input = [](int64_t id, uint64_t expected) {
    return DocumentInput{Id::of(id), "tea", std::nullopt, kUser, {}, expected};
  };
  const auto refused = [&](std::vector<DocumentInput> batch, uint64_t found) {
    try {
      static_cast<void>(engine.write(batch));
    } catch (const VersionConflict& conflict) {
      return conflict.found == found && conflict.document == &batch.back();
    }
    return false;
  };
  CHECK(refused({input(1, 5)}, kAbsent));
  CHECK_EQ(engine.count(nullptr), 0);
  CHECK(engine.id_kind() == IdKind::unset);
  const Written first = write({input(1, kAbsent), input(2, kAnyVersion)});
  CHECK_EQ(first.n_docs, 2);
  CHECK(refused({input(3, kAbsent), input(1, kAbsent)}, first.first_version));
  CHECK_EQ(engine.count(nullptr), 2);
  const Written second = write({input(2, first.first_version + 1)});
  CHECK(second.first_version > first.first_version + 1);
  const DocumentKey keys[] = {{kUser.get(), Id::of(1)}, {kUser.get(), Id::of(2)}};
  const uint64_t versions[] = {first.first_version, first.first_version + 1};
  CHECK_EQ(engine.remove(keys, versions), 1);
  CHECK(!owner_of(engine, 1, kUser) && owner_of(engine, 2, kUser));
}

TEST(keys_are_read_from_the_most_specific_scope) {
  for (uint32_t holders = 0; holders < 16; ++holders) {
    Twins t;
    t.write(1, kOther);  // not visible to acme
    for (uint32_t i = 0; i < 4; ++i) {
      if (holders >> i & 1) t.write(1, kVisible[i]);
    }
    t.check();
    const auto first = static_cast<uint32_t>(std::countr_zero(holders | 16u));
    const ScopeRef owner = owner_of(t.engine, 1, kBoth);
    CHECK(first == 4 ? !owner : is(owner, kVisible[first]));
    // Invisible documents do not matter.
    const ScopeRef of_user = owner_of(t.engine, 1, kUser), of_agent = owner_of(t.engine, 1, kAgent);
    CHECK(holders & 2 ? is(of_user, kUser) : holders & 8 ? is(of_user, kTenant) : !of_user);
    CHECK(holders & 4 ? is(of_agent, kAgent) : holders & 8 ? is(of_agent, kTenant) : !of_agent);
    CHECK_EQ(owner_of(t.engine, 1, kTenant) != nullptr, (holders & 8) != 0);
    // A ranking names the same document.
    const SearchResult result = ranked(t.engine, kBoth, {{{nullptr, Id::of(int64_t{1})}}});
    CHECK_EQ(result.hits.size(), owner ? 1 : 0);
    if (owner) CHECK(is(result.chunk_of(result.hits[0]).scope(), owner));
  }
}

TEST(keys_are_removed_from_exactly_their_scope) {
  Twins t;
  for (const ScopeRef& scope : kVisible) t.write(1, scope);
  t.write(2, kTenant);
  CHECK_EQ(t.remove(2, kBoth), 0);  // it sees the document but does not own it
  CHECK_EQ(t.remove(1, kOther), 0);
  t.check();
  for (const ScopeRef& scope : kVisible) {
    CHECK(is(owner_of(t.engine, 1, kBoth), scope));
    CHECK_EQ(t.remove(1, scope), 1);
    CHECK_EQ(t.remove(1, scope), 0);
    t.check();
  }
  CHECK(!owner_of(t.engine, 1, kBoth));
  CHECK(is(owner_of(t.engine, 2, kBoth), kTenant));
  for (const ScopeRef& scope : kVisible) t.write(1, scope);
  const DocumentKey several[] = {{kUser.get(), Id::of(int64_t{1})},
                                 {kOther.get(), Id::of(int64_t{1})},
                                 {kUser.get(), Id::of(int64_t{1})},
                                 {kTenant.get(), Id::of(int64_t{1})}};
  CHECK_EQ(t.engine.remove(several), 2);
  CHECK_EQ(t.model.remove(*kUser, 1) + t.model.remove(*kTenant, 1), 2);
  t.check();
}

TEST(keys_of_an_erased_partition_leave_those_of_the_others) {
  Twins t;
  for (const ScopeRef& scope : {kTenant, kUser, kAgent, kBoth, kOther}) {
    for (int64_t id = 0; id < 50; ++id) t.write(id, scope);
    for (int64_t id = 0; id < 50; id += 5) t.write(id, scope, "replaced");
    for (int64_t id = 1; id < 50; id += 7) static_cast<void>(t.remove(id, scope));
  }
  t.check();
  CHECK_EQ(t.engine.erase(*kUser, true), t.model.erase(*kUser, true));
  t.check();
  for (int64_t id = 0; id < 50; id += 2) t.write(id, kUser, "again");
  t.check();
  CHECK_EQ(t.engine.erase(*kUser, false), t.model.erase(*kUser, false));  // including the agents of the user
  t.check();
  CHECK_EQ(t.engine.erase(*kTenant, false), t.model.erase(*kTenant, false));
  CHECK_EQ(t.engine.count(nullptr), 43);  // of the other tenant
  t.check();
}

TEST(keys_follow_their_documents_through_compaction) {
  Twins t;
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 200; ++i) {
      const ScopeRef& scope = kVisible[random() % 4];
      const auto id = static_cast<int64_t>(random() % 40);
      if (random() % 3 == 0) {
        static_cast<void>(t.remove(id, scope));
      } else {
        t.write(id, scope, "round " + std::to_string(round) + " step " + std::to_string(i));
      }
    }
    const uint64_t n_dead = t.engine.stats(nullptr).n_dead;
    CHECK_EQ(t.engine.compact(), n_dead);
    t.check();
  }
}

TEST(keys_of_a_loaded_partition_may_have_the_ids_of_another) {
  Twins t;
  for (const ScopeRef& scope : {kTenant, kUser}) {
    for (int64_t id = 0; id < 20; ++id) t.write(id, scope, scope == kUser ? "of the user" : "of all");
  }
  const std::vector<std::string> images = t.engine.save_partition(*kUser);
  CHECK_EQ(t.engine.erase(*kUser, true), 20);
  CHECK(is(owner_of(t.engine, 3, kBoth), kTenant));
  CHECK_EQ(t.engine.load_partition(kUser, views(images)), 20);
  t.check();
  CHECK(is(owner_of(t.engine, 3, kBoth), kUser));
  CHECK_THROWS(static_cast<void>(t.engine.load_partition(kUser, views(images))), base::InvalidArgument);
  t.check();
  t.write(3, kUser, "written after loading");
  CHECK_EQ(t.remove(4, kUser), 1);
  static_cast<void>(t.engine.compact());
  t.check();
  // A duplicate id in one partition is corruption, and ids announced before it are rolled back.
  std::vector<std::string_view> doubled = views(images);
  doubled.push_back(doubled[0]);
  const size_t n = t.engine.count(nullptr);
  CHECK_THROWS(static_cast<void>(t.engine.load_partition(kAgent, doubled)), base::Corrupt);
  CHECK_EQ(t.engine.count(nullptr), n);
  t.check();
  CHECK_EQ(t.engine.load_partition(kAgent, views(images)), 20);
  CHECK_EQ(t.engine.count(nullptr), n + 20);
}

// A few ids are looked up; many are found by scanning the documents, partition by partition. Both count every
// visible document with one of the ids.
TEST(keys_in_a_filter_are_those_of_every_visible_scope) {
  Twins t;
  t.options = small_chunks(64);
  constexpr int64_t kMost = 400;
  // One partition is large, the others decrease in size: a set may be looked up in only some of them.
  for (int64_t id = 0; id < kMost; ++id) {
    t.write(id, kTenant);
    if (id % 4 == 0) t.write(id, kUser);
    if (id % 16 == 0) t.write(id, kAgent);
    if (id % 64 == 0) t.write(id, kBoth);
    if (id % 3 == 0) t.write(id, kOther);
  }
  for (int64_t id = 0; id < kMost; id += 32) static_cast<void>(t.remove(id, kUser));
  const std::vector<std::vector<DocumentKey>> rankings{
      {{nullptr, Id::of(int64_t{0})}, {kTenant.get(), Id::of(int64_t{0})}, {nullptr, Id::of(int64_t{16})}},
      {{kUser.get(), Id::of(int64_t{32})},
       {nullptr, Id::of(int64_t{32})},
       {kOther.get(), Id::of(int64_t{0})}}};
  for (const int64_t n_ids : {0, 1, 2, 3, 6, 12, 13, 40, 50, 51, 200, 400}) {
    Named named, with_keys, keys;
    for (int64_t i = 0; i < n_ids; ++i) {
      const Id id = Id::of(i * (kMost / n_ids));
      named.ids.insert(id.integer);
      keys.keys.push_back({(i % 2 == 0 ? kTenant : kUser).get(), id});
    }
    with_keys.ids = named.ids;
    with_keys.keys = {{kAgent.get(), Id::of(int64_t{16})}, {kUser.get(), Id::of(int64_t{3})}};
    for (const ScopeRef& from : {kTenant, kUser, kAgent, kBoth, kOther}) {
      for (const Named* one : {&named, &with_keys, &keys}) {
        CHECK_EQ(difference_of_names(t.engine, t.model, *from, one, nullptr, rankings), "");
        CHECK_EQ(difference_of_names(t.engine, t.model, *from, nullptr, one, rankings), "");
      }
    }
  }
}

TEST(keys_in_rankings_name_exactly_one_document) {
  Twins t;
  for (const ScopeRef& scope : {kTenant, kUser, kAgent, kBoth, kOther}) t.write(1, scope);
  t.write(2, kTenant);
  const auto key = [](const ScopeRef& scope, int64_t id) {
    return DocumentKey{scope ? scope.get() : nullptr, Id::of(id)};
  };
  const auto owners = [&](const std::vector<DocumentKey>& ranking, const ScopeRef& from) {
    const SearchResult result = ranked(t.engine, from, {ranking});
    std::vector<ScopeRef> scopes;
    for (const Hit& hit : result.hits) scopes.push_back(result.chunk_of(hit).scope());
    return scopes;
  };
  // All four documents of one id, in the caller's order, where the id alone stands for the first of them.
  const auto all =
      owners({key(kTenant, 1), key(nullptr, 1), key(kAgent, 1), key(kBoth, 1), key(kUser, 1)}, kBoth);
  CHECK_EQ(all.size(), 4);
  CHECK(is(all[0], kTenant) && is(all[1], kBoth) && is(all[2], kAgent) && is(all[3], kUser));
  // Documents that the searching scope does not see cannot be named, even exactly.
  CHECK(owners({key(kOther, 1)}, kBoth).empty());
  CHECK(owners({key(kBoth, 1)}, kUser).empty());
  CHECK(owners({key(kBoth, 2)}, kBoth).empty());  // not in that scope; the shared one is another document
  CHECK(is(owners({key(nullptr, 2)}, kBoth)[0], kTenant));
  // A scope as another object is the same scope.
  const Scope again("acme", "jane", kNone);
  CHECK(is(owners({{&again, Id::of(int64_t{1})}}, kBoth)[0], kUser));
}

// Documents hidden by a filter cannot be named: the next document with the id takes their place.
TEST(keys_of_hidden_documents_leave_their_id_to_the_shared_one) {
  Twins t;
  const char* shown = R"({"metadata":{"kind":"note"}})";
  const char* hidden = R"({"metadata":{"kind":"draft"}})";
  t.write(1, kTenant, "tea", shown);
  t.write(1, kUser, "tea", shown);
  t.write(1, kBoth, "tea", hidden);
  t.write(2, kUser, "tea", hidden);
  const auto notes = filter::compile(
      filter::Literal(filter::Literal::Object{{filter::Literal("kind"), filter::Literal("note")}}));
  CHECK(notes != nullptr);
  const DocumentFilter only_notes{&*notes, nullptr, nullptr};
  const std::vector<std::vector<DocumentKey>> rankings{
      {{nullptr, Id::of(int64_t{2})}, {kBoth.get(), Id::of(int64_t{1})}, {nullptr, Id::of(int64_t{1})}}};
  const SearchResult all = ranked(t.engine, kBoth, rankings);
  CHECK_EQ(all.hits.size(), 2);
  CHECK(is(all.chunk_of(all.hits[1]).scope(), kBoth));
  const SearchResult filtered = ranked(t.engine, kBoth, rankings, only_notes);
  CHECK_EQ(filtered.hits.size(), 1);
  CHECK(is(filtered.chunk_of(filtered.hits[0]).scope(), kUser));
  CHECK(is(owner_of(t.engine, 1, kBoth), kBoth));  // get() has no filter
}

// Scopes and string ids are hashed by one function, and a caller chooses both.
TEST(keys_that_spell_their_own_scope_do_not_meet) {
  std::set<uint32_t> hashes;
  std::set<size_t> shards;
  for (int i = 0; i < 3000; ++i) {
    const Scope scope("acme", kNone, "agent-" + std::to_string(i));
    const uint64_t hash = key_hash(scope, Id::of(scope.key()).hash());
    hashes.insert(static_cast<uint32_t>(hash));
    shards.insert(IdIndex::shard_number(hash));
  }
  CHECK(hashes.size() > 2990);
  CHECK_EQ(shards.size(), IdIndex::kShards);
  Engine engine(small_chunks());
  for (int i = 0; i < 2000; ++i) {
    const auto scope = std::make_shared<Scope>("acme", kNone, "agent-" + std::to_string(i));
    const DocumentInput input{Id::of(scope->key()), "tea", std::nullopt, scope, {}};
    CHECK_EQ(engine.upsert({&input, 1}), 1);
    CHECK(engine.get(input.id, *scope).has_value());
  }
}

// Keys of equal hash in a map: of different ids, and of the same id in other partitions.
TEST(keys_of_one_hash_are_told_apart) {
  constexpr uint64_t kHash = 42;
  constexpr size_t kPartitions = 3, kIds = 500;
  std::vector<std::unique_ptr<Partition>> partitions;
  for (const ScopeRef& scope : {kTenant, kUser, kAgent})
    partitions.push_back(std::make_unique<Partition>(scope, 64));
  IdMap map;
  const base::EpochGuard guard;
  std::vector<Location> locations;
  for (size_t i = 0; i < kIds; ++i) {
    for (const auto& partition : partitions) {
      const Id id = Id::of(static_cast<int64_t>(i));
      Chunk& chunk = partition->open_chunk();
      chunk.prepare({id, "", std::nullopt, nullptr, {}, {}, 0}, {});
      locations.push_back({partition.get(), local_doc(chunk.serial(), chunk.n_docs())});
      chunk.publish(1);
      CHECK(map.add(id, kHash, locations.back()));
      CHECK(!map.add(id, kHash, locations.back()));
    }
  }
  // The second partition's entries are erased; those of the third move to the next document.
  for (size_t i = 0; i < kIds; ++i) map.erase(kHash, locations[i * kPartitions + 1]);
  CHECK_EQ(map.size(), kIds * (kPartitions - 1));
  for (size_t i = 0; i < kIds; ++i) {
    const Id id = Id::of(static_cast<int64_t>(i));
    for (size_t p = 0; p < kPartitions; ++p) {
      const auto found = map.find(*partitions[p], id, kHash);
      CHECK_EQ(found.has_value(), p != 1);
      if (!found) continue;
      CHECK(found->partition == partitions[p].get() && found->doc == locations[i * kPartitions + p].doc);
    }
  }
}

// While the specific document is replaced continuously, its id never names the shared one.
TEST(keys_in_rankings_stay_with_a_document_that_is_replaced) {
  Engine engine(small_chunks(64));
  const auto write = [&](int64_t id, const ScopeRef& scope, std::string_view text) {
    const DocumentInput input{Id::of(id), text, std::nullopt, scope, {}};
    CHECK_EQ(engine.upsert({&input, 1}), 1);
  };
  for (int64_t id = 0; id < 8; ++id) {
    write(id, kTenant, "shared");
    write(id, kUser, "own");
  }
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::vector<std::vector<DocumentKey>> rankings(1);
      for (int64_t id = 0; id < 8; ++id) rankings[0].push_back({nullptr, Id::of(id)});
      while (!done.load()) {
        const SearchResult result = ranked(engine, kUser, rankings);
        CHECK_EQ(result.hits.size(), 8);
        for (const Hit& hit : result.hits) CHECK(is(result.chunk_of(hit).scope(), kUser));
        CHECK(is(owner_of(engine, 3, kBoth), kUser));
      }
    });
  }
  for (int i = 0; i < 20000; ++i) {
    write(i % 8, kUser, "own again");
    if (i % 500 == 499) static_cast<void>(engine.compact());
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}

// A search that began before its partition is erased sees all of it, so excluded documents stay excluded.
TEST(keys_that_are_excluded_stay_away_while_their_partition_is_erased) {
  constexpr int64_t kIds = 2000;
  Engine engine(EngineOptions{});
  std::vector<DocumentInput> batch;
  for (int64_t id = 0; id < kIds; ++id) batch.push_back({Id::of(id), "tea", {}, kUser, {}});
  std::vector<int64_t> excluded_ids;
  for (int64_t id = 0; id < 100; ++id) excluded_ids.push_back(id * 20);
  const filter::IdSet excluded = filter::IdSet::of_integers(excluded_ids);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!done.load()) {
        SearchRequest request;
        request.scope = kUser.get();
        request.text = "tea";
        request.k = kIds;
        request.filter.without.ids = &excluded;
        const SearchResult result = engine.search(request);
        CHECK(result.hits.empty() || result.hits.size() == kIds - 100);
        const base::EpochGuard guard;
        for (const Hit& hit : result.hits)
          CHECK(!excluded.contains(result.chunk_of(hit).id(hit.offset).integer));
      }
    });
  }
  for (int round = 0; round < 100; ++round) {
    CHECK_EQ(engine.upsert(batch), kIds);
    CHECK_EQ(engine.erase(*kUser, true), kIds);
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}

// Threads load the partition of one scope at once: one of them succeeds, and the others leave nothing behind.
TEST(concurrent_loads_of_a_partition_add_its_keys_once) {
  constexpr int64_t kIds = 300;
  Engine source(small_chunks(64));
  for (int64_t id = 0; id < kIds; ++id) {
    const DocumentInput input{Id::of(id), "tea", std::nullopt, kUser, {}};
    CHECK_EQ(source.upsert({&input, 1}), 1);
  }
  const std::vector<std::string> images = source.save_partition(*kUser);
  for (int round = 0; round < 50; ++round) {
    Engine engine(small_chunks(64));
    std::atomic<int> n_ready{0}, n_loaded{0};
    const auto load = [&] {
      ++n_ready;
      while (n_ready.load() < 2) {
      }
      try {
        CHECK_EQ(engine.load_partition(kUser, views(images)), kIds);
        ++n_loaded;
      } catch (const base::InvalidArgument&) {
      }
    };
    std::thread other(load);
    load();
    other.join();
    CHECK_EQ(n_loaded.load(), 1);
    CHECK_EQ(engine.count(nullptr), kIds);
    for (int64_t id = 0; id < kIds; ++id) CHECK(is(owner_of(engine, id, kBoth), kUser));
    CHECK_EQ(engine.erase(*kUser, true), kIds);
    CHECK_EQ(engine.count(nullptr), 0);
  }
}

// Writers replace, delete, erase, load and compact the partitions of one tenant while readers look ids up:
// they always get a document with their id that is visible to them.
TEST(keys_stay_right_under_concurrent_operations) {
  Engine engine(small_chunks(16));
  constexpr int64_t kIds = 30;
  const auto text_of = [](int64_t id, const Scope& scope) {
    return "n" + std::to_string(id) + " " + std::string(scope.key());
  };
  std::atomic<bool> done{false};
  std::atomic<uint64_t> n_found{0};
  std::vector<std::thread> readers;
  for (unsigned r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random(r);
      while (!done.load()) {
        const auto id = static_cast<int64_t>(random() % kIds);
        const Scope& from = *kVisible[random() % 4];
        const auto stored = engine.get(Id::of(id), from);
        if (!stored) continue;
        ++n_found;
        const base::EpochGuard guard;
        const Scope& owner = *stored->chunk->scope();
        CHECK(Model::visible_rank(from, owner) >= 0);
        CHECK(stored->chunk->id(stored->offset) == Id::of(id));
        CHECK_EQ(stored->chunk->text(stored->offset), text_of(id, owner));
      }
    });
  }
  std::mt19937 random(9);
  for (int step = 0; step < 10000; ++step) {
    const ScopeRef& scope = kVisible[random() % 4];
    const auto id = static_cast<int64_t>(random() % kIds);
    const uint32_t choice = random() % 64;
    if (choice == 0) {
      static_cast<void>(engine.compact());
    } else if (choice == 1) {
      static_cast<void>(engine.erase(*scope, random() % 4 != 0));
    } else if (choice == 2) {
      const std::vector<std::string> images = engine.save_partition(*scope);
      static_cast<void>(engine.erase(*scope, true));
      static_cast<void>(engine.load_partition(scope, views(images)));
    } else if (choice < 16) {
      const DocumentKey key{scope.get(), Id::of(id)};
      CHECK(engine.remove({&key, 1}) <= 1);
    } else {
      const std::string text = text_of(id, *scope);
      const DocumentInput input{Id::of(id), text, std::nullopt, scope, {}};
      CHECK_EQ(engine.upsert({&input, 1}), 1);
    }
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  CHECK(n_found.load() > 0);
}
