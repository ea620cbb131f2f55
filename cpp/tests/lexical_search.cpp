// Every way of ranking documents is BM25 by the formula, on many small random collections.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "lexical_model.hpp"

using namespace scrubjay::lexical;
using namespace scrubjay::lexical_model;
namespace base = scrubjay::base;
namespace text = scrubjay::text;

namespace {

void check_random_search(std::mt19937& random, std::vector<std::unique_ptr<PrunedSearch>>& pruned) {
  const uint32_t n_terms = 1 + random() % 20;
  const Collection collection(random, n_terms);
  const base::EpochGuard guard;

  std::vector<uint32_t> query_terms, counts;
  for (uint32_t t = 0; t < n_terms + 1; ++t) {  // one more than any document contains
    if (random() % 3 != 0) continue;
    query_terms.push_back(t);
    counts.push_back(random() % 4 == 0 ? 1 + random() % 5 : 1);
  }
  std::vector<TermPostings> postings(collection.chunks.size() * query_terms.size());
  std::vector<ChunkPostings> chunk_postings;
  std::vector<uint64_t> dfs(query_terms.size());
  for (size_t c = 0; c < collection.chunks.size(); ++c) {
    const auto n_docs = static_cast<uint32_t>(collection.chunks[c].size());
    for (size_t t = 0; t < query_terms.size(); ++t) {
      TermPostings& found = postings[c * query_terms.size() + t];
      const std::string term = term_of(query_terms[t]);
      collection.tables[c]->find(text::term_key(term), term, n_docs, collection.dead[c].get(), found);
      dfs[t] += found.n - found.n_dead;
    }
    chunk_postings.push_back({n_docs, collection.dead[c].get(), postings.data() + c * query_terms.size()});
  }
  const Bm25Parameters parameters{random() % 5 == 0 ? 0.0 : 1.2, random() % 5 == 0 ? 1.0 : 0.75};
  Statistics statistics = collection.statistics;
  if (random() % 8 == 0)
    statistics.n_docs *= 1'000'000;  // rare terms of a large collection: the greatest weights
  Weighting weighting;
  weighting.prepare(parameters, statistics, dfs, counts, collection.max_length_code);
  const Query query{chunk_postings, counts, &weighting};

  const PlainBm25 plain(parameters, statistics, dfs, counts);
  CHECK(weighting.score(1) == std::ldexp(1.0, -static_cast<int>(plain.bits)));
  std::vector<uint64_t> expected;
  for (uint32_t c = 0; c < collection.chunks.size(); ++c) {
    for (uint32_t offset = 0; offset < collection.chunks[c].size(); ++offset) {
      const Document& document = collection.chunks[c][offset];
      uint32_t score = 0;
      for (size_t t = 0; t < query_terms.size(); ++t) {
        const auto tf = document.tfs.find(query_terms[t]);
        if (tf != document.tfs.end()) score += counts[t] * plain.contribution(t, tf->second, document.length);
      }
      if (!document.dead) CHECK_EQ(score_document(query, c, offset), score);
      if (!document.dead && score != 0) expected.push_back(base::candidate_key(score, c << 16 | offset));
    }
  }
  std::sort(expected.begin(), expected.end(), std::greater<>());
  const size_t k = 1 + random() % (random() % 2 ? 5 : 400);
  expected.resize(std::min(k, expected.size()));

  base::TopK best;
  best.reset(k);
  search_exhaustively(query, best);
  CHECK_EQ(best.finish(), expected);
  for (const auto& search : pruned) {
    best.reset(k);
    search->run(query, best);
    CHECK_EQ(best.finish(), expected);
  }
}

// One set for all, as in a thread: with windows that end inside chunks and with the usual one.
std::vector<std::unique_ptr<PrunedSearch>> pruned_searches() {
  std::vector<std::unique_ptr<PrunedSearch>> searches;
  for (const uint32_t window : {16u, 64u, PrunedSearch::kWindow})
    searches.push_back(std::make_unique<PrunedSearch>(window));
  return searches;
}

}  // namespace

TEST(lexical_search_is_bm25_on_random_collections) {
  auto pruned = pruned_searches();
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const int before = scrubjay::check::n_failures();
    check_random_search(random, pruned);
    if (scrubjay::check::n_failures() != before) {
      scrubjay::check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      break;
    }
  }
}

// Lists long enough for every way of accumulation, over several windows and two full chunks.
TEST(lexical_pruned_search_equals_exhaustive_on_long_lists) {
  auto pruned = pruned_searches();
  const uint32_t n_docs = 65536, n_terms = 7;
  const uint32_t strides[n_terms] = {1, 2, 5, 17, 130, 3001, 40'000};
  std::mt19937 random(1);
  PostingTable tables[2];
  for (PostingTable& table : tables) {
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      const uint32_t code = 1 + random() % (doc % 1000 == 0 ? kMaxLengthCode : 60);
      for (uint32_t t = 0; t < n_terms; ++t) {
        if (random() % strides[t] != 0) continue;
        const uint32_t tf = random() % 8 == 0 ? 1 + random() % 31 : 1 + random() % 3;
        table.append(text::term_key(term_of(t)), term_of(t), static_cast<uint16_t>(doc),
                     pack_payload(tf, code), nullptr);
      }
    }
  }
  base::Bitmap dead(n_docs);
  for (int i = 0; i < 5000; ++i) dead.set(random() % n_docs);
  const base::EpochGuard guard;
  for (int round = 0; round < 60; ++round) {
    std::vector<uint32_t> terms, counts;
    for (uint32_t t = 0; t < n_terms; ++t) {
      if (random() % 2) continue;
      terms.push_back(t);
      counts.push_back(1 + random() % 3 / 2);
    }
    std::shuffle(terms.begin(), terms.end(), random);
    std::vector<TermPostings> postings(2 * terms.size());
    std::vector<ChunkPostings> chunks;
    std::vector<uint64_t> dfs(terms.size());
    for (size_t c = 0; c < 2; ++c) {
      const uint32_t seen = c == 1 && random() % 2 ? random() % n_docs : n_docs;  // a stale snapshot
      for (size_t t = 0; t < terms.size(); ++t) {
        TermPostings& found = postings[c * terms.size() + t];
        tables[c].find(text::term_key(term_of(terms[t])), term_of(terms[t]), seen, nullptr, found);
        dfs[t] += found.n;
      }
      chunks.push_back({seen, random() % 2 ? &dead : nullptr, postings.data() + c * terms.size()});
    }
    Weighting weighting;
    weighting.prepare({}, {2 * n_docs, uint64_t{2} * n_docs * 30}, dfs, counts, kMaxLengthCode);
    const Query query{chunks, counts, &weighting};
    const size_t k = round % 3 == 0 ? 1 : round % 3 == 1 ? 10 + random() % 90 : 1 + random() % 200'000;
    base::TopK expected, best;
    expected.reset(k);
    search_exhaustively(query, expected);
    for (const auto& search : pruned) {
      best.reset(k);
      search->run(query, best);
      CHECK(best.finish() == expected.finish());
    }
  }
  base::collect_retired();
}

// While a document is being prepared, its postings may already raise a list's bounds: to a length that no
// visible document has, and beyond the query's norms.
TEST(lexical_pruned_search_ignores_the_bounds_of_unseen_postings) {
  for (const uint32_t unseen_code : {1900u, kMaxLengthCode, 0u}) {
    PostingTable table;
    const uint32_t n_docs = 3000;
    for (uint32_t doc = 0; doc <= n_docs; ++doc) {
      const uint16_t payload =
          doc < n_docs ? pack_payload(1 + doc % 2, 3 + doc % 7) : pack_payload(31, unseen_code);
      table.append(text::term_key("word"), "word", static_cast<uint16_t>(doc), payload, nullptr);
    }
    const base::EpochGuard guard;
    TermPostings postings;
    table.find(text::term_key("word"), "word", n_docs, nullptr, postings);
    const std::vector<uint64_t> dfs{n_docs};
    const std::vector<uint32_t> counts{1};
    const ChunkPostings chunk{n_docs, nullptr, &postings};
    Weighting weighting;
    weighting.prepare({}, {n_docs, uint64_t{6} * n_docs}, dfs, counts, 9);
    const Query query{{&chunk, 1}, counts, &weighting};
    base::TopK expected, best;
    expected.reset(50);
    search_exhaustively(query, expected);
    PrunedSearch pruned;
    best.reset(50);
    pruned.run(query, best);
    CHECK_EQ(best.finish(), expected.finish());
  }
  base::collect_retired();
}

TEST(weighting_gives_up_bits_only_for_long_queries) {
  const Statistics statistics{1000, 20'000};
  for (const uint32_t occurrences : {1u, 100u, 1000u, 100'000u, 3'000'000u}) {
    for (const size_t n_terms : {size_t{1}, size_t{30}}) {
      const std::vector<uint64_t> dfs(n_terms, 3);
      const std::vector<uint32_t> counts(n_terms, occurrences);
      Weighting weighting;
      weighting.prepare({}, statistics, dfs, counts, 100);
      const PlainBm25 plain({}, statistics, dfs, counts);
      CHECK(weighting.score(1) == std::ldexp(1.0, -static_cast<int>(plain.bits)));
      uint64_t greatest = 0;
      for (size_t t = 0; t < n_terms; ++t) {
        CHECK(weighting.weight(t) == plain.weights[t]);
        greatest += uint64_t{occurrences} * contribution(weighting.weight(t), kMaxTf, 0.0f);
      }
      CHECK(greatest < uint64_t{1} << 32);  // scores fit into the upper half of a candidate's key
      CHECK(plain.bits == 20 || greatest >= uint64_t{1} << 28);  // and no bit is wasted
    }
  }
}

TEST(weighting_of_an_empty_collection_and_of_empty_documents) {
  Weighting weighting;
  const std::vector<uint64_t> dfs{0, 1};
  const std::vector<uint32_t> counts{1, 1};
  weighting.prepare({}, {}, dfs, counts, 0);
  CHECK(weighting.weight(0) == 0.0f);
  CHECK(weighting.idf_of(0) == 0.0);
  weighting.prepare({1.2, 0.75}, {5, 0}, dfs, counts, 10);
  for (int code = 0; code <= 10; ++code) CHECK(weighting.norms()[code] == static_cast<float>(1.2 * 0.25));
}

TEST(contribution_is_never_nothing_and_grows_with_frequency) {
  CHECK_EQ(contribution(0.001f, 1, 100.0f), 1);
  for (const float norm : {0.0f, 0.3f, 1.2f, 50.0f}) {
    for (uint32_t tf = 1; tf < kMaxTf; ++tf)
      CHECK(contribution(1e6f, tf, norm) <= contribution(1e6f, tf + 1, norm));
  }
  CHECK_EQ(contribution(1024.0f, 1, 0.0f), 1024);
  CHECK_EQ(contribution(5.0f, 1, 1.0f), 2);  // 2.5: half to even
  CHECK_EQ(contribution(7.0f, 1, 1.0f), 4);  // 3.5
}

// Rounding in single precision lets a smaller frequency win by a few units at the greatest weights and zero
// norms: a list's bound must allow for it. Collections with such a list hold ten million documents.
TEST(lexical_pruned_bounds_hold_for_the_greatest_weights) {
  const Bm25Parameters no_norm{0.0, 0.75};
  size_t n_telling = 0;
  for (uint64_t n_docs = 40'000'000; n_docs < 4'000'000'000 && n_telling < 50; n_docs += 7'654'321) {
    const std::vector<uint64_t> dfs{3};
    const std::vector<uint32_t> counts{1};
    Weighting weighting;
    weighting.prepare(no_norm, {n_docs, 10 * n_docs}, dfs, counts, 10);
    uint32_t worth[kMaxTf + 1];
    for (uint32_t tf = 1; tf <= kMaxTf; ++tf) worth[tf] = contribution(weighting.weight(0), tf, 0.0f);
    // Chunk 0 holds `first`; chunk 1 holds `last` and a `best` that scores higher than both, with
    // a lower frequency.
    const uint32_t last = static_cast<uint32_t>(std::min_element(worth + 1, worth + kMaxTf + 1) - worth);
    const uint32_t best_tf = static_cast<uint32_t>(std::max_element(worth + 1, worth + last) - worth);
    for (uint32_t first = 1; first <= kMaxTf; ++first) {
      if (last < 2 || worth[best_tf] <= worth[first] || worth[first] < worth[last] + 2) continue;
      ++n_telling;
      PostingTable tables[2];
      const uint64_t key = text::term_key("word");
      tables[0].append(key, "word", 0, pack_payload(first, 5), nullptr);
      tables[1].append(key, "word", 0, pack_payload(last, 5), nullptr);
      tables[1].append(key, "word", 1, pack_payload(best_tf, 5), nullptr);
      const base::EpochGuard guard;
      TermPostings postings[2];
      std::vector<ChunkPostings> chunks;
      for (uint32_t c = 0; c < 2; ++c) {
        tables[c].find(key, "word", 2, nullptr, postings[c]);
        chunks.push_back({2, nullptr, &postings[c]});
      }
      const Query query{chunks, counts, &weighting};
      base::TopK expected, best;
      expected.reset(1);
      search_exhaustively(query, expected);
      PrunedSearch pruned;
      best.reset(1);
      pruned.run(query, best);
      CHECK_EQ(best.finish(), expected.finish());
    }
  }
  CHECK(n_telling > 0);
}
