// Pruned == exhaustive == the plain formula, on a million random small cases that cross the borders of
// windows, chunks and growing lists, with deletions, several chunks and every k up to 1,000, at every SIMD
// level. Builds with assertions and sanitizers check fewer cases.
#include <numeric>

#include "base/epoch.hpp"
#include "check.hpp"
#include "lexical_model.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay::lexical;
using namespace scrubjay::lexical_model;
namespace base = scrubjay::base;
namespace simd = scrubjay::simd;
namespace text = scrubjay::text;

namespace {

#if defined(NDEBUG)
constexpr size_t kCases = 1'000'000;
#else
constexpr size_t kCases = 40'000;
#endif
constexpr uint32_t kQueriesEach = 40;  // per collection

// One query over a collection: the formula, the reference and every pruned search give the same best k.
void check_case(const Collection& collection, uint32_t n_terms, std::mt19937& random,
                std::vector<std::unique_ptr<PrunedSearch>>& pruned) {
  static std::vector<uint32_t> terms, counts;
  static std::vector<uint64_t> dfs, expected;
  static std::vector<TermPostings> postings;
  static std::vector<ChunkPostings> chunks;
  static base::TopK best;
  static Weighting weighting;
  terms.clear();
  counts.clear();
  const uint32_t share = 1 + random() % 4;
  for (uint32_t t = 0; t < n_terms; ++t) {
    if (random() % share != 0) continue;
    terms.push_back(t);
    counts.push_back(random() % 6 == 0 ? 1 + random() % 4 : 1);
  }
  std::shuffle(terms.begin(), terms.end(), random);
  dfs.assign(terms.size(), 0);
  postings.resize(collection.chunks.size() * terms.size());
  chunks.clear();
  for (size_t c = 0; c < collection.chunks.size(); ++c) {
    const auto n_docs = static_cast<uint32_t>(collection.chunks[c].size());
    for (size_t t = 0; t < terms.size(); ++t) {
      TermPostings& found = postings[c * terms.size() + t];
      collection.tables[c]->find(text::term_key(term_of(terms[t])), term_of(terms[t]), n_docs,
                                 collection.dead[c].get(), found);
      dfs[t] += found.n - found.n_dead;
    }
    chunks.push_back({n_docs, collection.dead[c].get(), postings.data() + c * terms.size()});
  }
  const Bm25Parameters parameters{random() % 9 == 0 ? 0.0 : 1.2, random() % 9 == 0 ? 1.0 : 0.75};
  weighting.prepare(parameters, collection.statistics, dfs, counts, collection.max_length_code);
  const Query query{chunks, counts, &weighting};

  const PlainBm25 plain(parameters, collection.statistics, dfs, counts);
  expected.clear();
  for (uint32_t c = 0; c < collection.chunks.size(); ++c) {
    for (uint32_t offset = 0; offset < collection.chunks[c].size(); ++offset) {
      const Document& document = collection.chunks[c][offset];
      if (document.dead) continue;
      uint32_t score = 0;
      for (size_t t = 0; t < terms.size(); ++t) {
        const auto tf = document.tfs.find(terms[t]);
        if (tf != document.tfs.end()) score += counts[t] * plain.contribution(t, tf->second, document.length);
      }
      if (score != 0) expected.push_back(base::candidate_key(score, c << 16 | offset));
    }
  }
  std::sort(expected.begin(), expected.end(), std::greater<>());
  const size_t k = 1 + random() % (random() % 8 == 0 ? 1000 : random() % 2 ? 40 : 6);
  if (expected.size() > k) expected.resize(k);

  best.reset(k);
  search_exhaustively(query, best);
  CHECK(best.finish() == expected);
  for (const auto& search : pruned) {
    best.reset(k);
    search->run(query, best);
    CHECK(best.finish() == expected);
  }
}

}  // namespace

TEST(lexical_many_cases_pruned_equals_exhaustive_equals_the_formula) {
  std::vector<std::unique_ptr<PrunedSearch>> pruned;
  for (const simd::Kernels* level : simd::available_kernels()) {
    for (const uint32_t window : {16u, 64u}) pruned.push_back(std::make_unique<PrunedSearch>(window, *level));
  }
  for (uint32_t seed = 0; seed < kCases / kQueriesEach; ++seed) {
    std::mt19937 random(seed);
    const uint32_t n_terms = 1 + random() % 14;
    const Collection collection(random, n_terms, seed % 16 == 0 ? 300 : 1 + random() % 70);
    const base::EpochGuard guard;
    const int before = scrubjay::check::n_failures();
    for (uint32_t q = 0; q < kQueriesEach; ++q) check_case(collection, n_terms, random, pruned);
    if (scrubjay::check::n_failures() != before) {
      scrubjay::check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      break;
    }
  }
  base::collect_retired();
}
