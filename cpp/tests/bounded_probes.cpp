// Second defence: tables whose hashes are all bad still hold their content, and their probes end.
#include <memory>
#include <string>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/engine.hpp"
#include "engine/id_map.hpp"
#include "engine/partition_table.hpp"
#include "filter/interner.hpp"
#include "lexical/posting_table.hpp"
#include "lexical/term_counts.hpp"
#include "text/surface_cache.hpp"

using namespace scrubjay;

namespace {

constexpr uint32_t kKeys = 3000;  // more than a table probes

std::vector<std::string> long_terms() {
  std::vector<std::string> made;
  for (size_t i = 0; i < kKeys; ++i) made.push_back("one-of-the-terms-" + std::to_string(i));
  return made;
}

}  // namespace

// From document 100 on, so that there is a dictionary from the start: a later one would compute new keys.
TEST(posting_table_of_one_key_holds_all_terms) {
  const std::vector<std::string> terms = long_terms();
  const uint64_t key = text::kHashedTermFlag | 42;
  const uint32_t first = 100, n_docs = first + kKeys;
  lexical::PostingTable table, copy;
  std::vector<uint32_t> same_numbers;
  for (uint32_t doc = 0; doc < n_docs; ++doc) same_numbers.push_back(doc);
  for (uint32_t i = 0; i < kKeys; ++i)
    table.append(key, terms[i], static_cast<uint16_t>(first + i), lexical::pack_payload(1, 1), nullptr);
  copy.append_all(table, 0, same_numbers);
  const base::EpochGuard guard;
  for (const lexical::PostingTable* searched : {&table, &copy}) {
    CHECK_EQ(searched->n_terms(), kKeys);
    lexical::TermPostings found;
    for (uint32_t i = 0; i < kKeys; ++i) {
      searched->find(key, terms[i], n_docs, nullptr, found);
      CHECK(found.n == 1 && found.offsets()[0] == first + i);
    }
    searched->find(key, "none of them", n_docs, nullptr, found);
    CHECK_EQ(found.n, 0u);
  }
}

TEST(term_counter_counts_terms_of_one_key) {
  const std::vector<std::string> terms = long_terms();
  std::vector<text::Token> tokens;
  for (int twice = 0; twice < 2; ++twice)
    for (const std::string& term : terms)
      tokens.push_back({term, text::kHashedTermFlag | 7, text::TokenKind::word});
  lexical::TermCounter counter;
  for (int again = 0; again < 2; ++again) {
    const std::span<const lexical::TermCount> counts = counter.count(tokens);
    CHECK_EQ(counts.size(), kKeys);
    CHECK_EQ(counter.length(), 2 * kKeys);
    for (size_t i = 0; i < counts.size(); ++i) CHECK(counts[i].term == terms[i] && counts[i].count == 2);
  }
}

TEST(interner_of_one_hash_tells_strings_apart) {
  const std::vector<std::string> terms = long_terms();
  filter::Interner interner;
  for (size_t i = 0; i < kKeys; ++i) {
    CHECK(interner.find(terms[i], 5) == filter::Interner::kNone);
    CHECK_EQ(interner.add(terms[i], 5), i);
  }
  for (size_t i = 0; i < kKeys; ++i) CHECK_EQ(interner.find(terms[i], 5), i);
  CHECK_EQ(interner.find("none of them", 5), filter::Interner::kNone);
}

TEST(surface_table_keeps_some_of_many_colliding_terms) {
  const std::vector<std::string> terms = long_terms();
  text::SurfaceTable table(size_t{1} << 24);
  text::Draft draft;
  size_t n_kept = 0;
  for (const std::string& term : terms) {
    draft.clear();
    draft.add(term, text::TokenKind::word);
    n_kept += table.insert(term, 9, draft).has_value() ? 1 : 0;
  }
  CHECK_EQ(n_kept, text::SurfaceTable::kMostProbes);
  CHECK(!table.full());
  for (size_t i = 0; i < kKeys; ++i) {
    const auto found = table.find(terms[i], 9);
    CHECK_EQ(found.has_value(), i < n_kept);
    if (found) CHECK(found->size() == 1 && (*found)[0].term == terms[i]);
  }
}

// Tables that may probe only one slot at first.
TEST(partition_table_is_rebuilt_until_all_find_a_place) {
  engine::PartitionTable table(base::Probing::at_most(1));
  std::vector<engine::ScopeRef> scopes;
  for (size_t i = 0; i < kKeys; ++i) {
    scopes.push_back(
        std::make_shared<engine::Scope>("tenant-" + std::to_string(i), std::nullopt, std::nullopt));
    table.insert(std::make_unique<engine::Partition>(scopes.back(), 64));
    if (i % 3 == 2) table.remove(*table.find(scopes[i - 1]->key(), scopes[i - 1]->hash()));
  }
  const base::EpochGuard guard;
  for (size_t i = 0; i < kKeys; ++i) {
    const engine::Partition* found = table.find(scopes[i]->key(), scopes[i]->hash());
    CHECK_EQ(found != nullptr, i % 3 != 1);
    if (found) CHECK(found->scope() == scopes[i]);
  }
  CHECK_EQ(table.n_partitions(), kKeys - kKeys / 3);
}

TEST(id_map_is_rebuilt_until_all_find_a_place) {
  engine::Engine engine(engine::EngineOptions{});
  const auto scope = std::make_shared<engine::Scope>("acme", std::nullopt, std::nullopt);
  // On the heap like the engine's: an entry has no room for the last four bits of an address.
  const auto owned = std::make_unique<engine::Partition>(scope, 65536);
  engine::Partition& partition = *owned;
  engine::IdMap map(base::Probing::at_most(1));
  const base::EpochGuard guard;
  for (size_t i = 0; i < kKeys; ++i) {
    const engine::Id id = engine::Id::of(static_cast<int64_t>(i));
    engine::Chunk& chunk = partition.open_chunk();
    chunk.prepare({id, "", std::nullopt, nullptr, {}, {}, 0}, {});
    const engine::Location location{&partition, engine::local_doc(chunk.serial(), chunk.n_docs())};
    chunk.publish(1);
    const uint64_t hash = engine::key_hash(*scope, id.hash());
    CHECK(map.add(id, hash, location));
    CHECK(!map.add(id, hash, location));
    if (i % 5 == 4) map.erase(hash, location);
  }
  CHECK_EQ(map.size(), kKeys - kKeys / 5);
  for (size_t i = 0; i < kKeys; ++i) {
    const engine::Id id = engine::Id::of(static_cast<int64_t>(i));
    const auto found = map.find(partition, id, engine::key_hash(*scope, id.hash()));
    CHECK_EQ(found.has_value(), i % 5 != 4);
    if (found) CHECK_EQ(engine::offset_of(found->doc), i);
  }
}
