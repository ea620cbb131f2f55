// The scan finds exactly the nearest live vectors that a loop over all of them finds.
#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "check.hpp"
#include "storages.hpp"
#include "vector/code_scan.hpp"
#include "vector/scan.hpp"

using namespace scrubjay::vector;
namespace base = scrubjay::base;

namespace {

std::vector<float> random_vector(std::mt19937& random, uint32_t dim) {
  std::vector<float> vector(dim);
  for (float& x : vector)
    x = static_cast<float>(static_cast<int>(random() % 7)) - 3.0f;  // coarse: equal similarities
  vector[random() % dim] += 0.5f;                                   // and never all zero
  return vector;
}

std::vector<uint64_t> scan_one_by_one(const Column& column, uint32_t n_docs, const base::Bitmap* dead,
                                      uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                                      size_t k) {
  std::vector<uint64_t> keys;
  for (uint32_t doc = first_doc; doc < n_docs; ++doc) {
    if (!column.has(doc) || (dead && dead->test(doc))) continue;
    keys.push_back(
        base::candidate_key(base::sortable_float(column.similarity(doc, query)), chunk << 16 | doc));
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.resize(std::min(k, keys.size()));
  return keys;
}

std::vector<uint64_t> scan(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc,
                           const PreparedQuery& query, size_t k) {
  base::TopK best;
  best.reset(k);
  scan_chunk(vectors, chunk, first_doc, query, best);
  return best.finish();
}

}  // namespace

TEST(scan_equals_a_loop_over_all_vectors) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t dim = 1 + random() % 40;
    const auto metric = static_cast<Metric>(random() % 3);
    Column column({dim, metric, kStorages[random() % 3]});
    const uint32_t n_docs = random() % (round % 10 == 0 ? 3000 : 200), sparsity = 1 + random() % 4;
    base::Bitmap dead(n_docs + 1);
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      if (random() % sparsity == 0) column.append(doc, random_vector(random, dim));
      if (random() % 5 == 0) dead.set(doc);
    }
    PreparedQuery query;
    prepare_query(column.options(), random_vector(random, dim), query);
    const base::Bitmap* bitmap = random() % 3 == 0 ? nullptr : &dead;
    const uint32_t seen =
        n_docs == 0 ? 0 : random() % (n_docs + 1);  // a snapshot that ends before the column does
    const uint32_t first = random() % 2 ? 0 : random() % (seen + 1), chunk = random() % 3;
    const size_t k = 1 + random() % (random() % 2 ? 10 : 4000);
    CHECK_EQ(scan({seen, bitmap, &column}, chunk, first, query, k),
             scan_one_by_one(column, seen, bitmap, chunk, first, query, k));
  }
  base::collect_retired();
}

// With bounds so wide that codes exclude nothing that belongs among the best. Runs of documents without
// vectors are longer than the blocks of codes.
TEST(scan_and_gathering_of_codes_equal_a_loop_over_all_vectors) {
  constexpr float kWide = 40.0f;
  std::mt19937 random(3);
  CodeScanScratch scratch;
  for (int round = 0; round < 120; ++round) {
    const uint32_t dim = kLeastCodedDim + random() % 80;
    const auto metric = static_cast<Metric>(random() % 3);
    Column column({dim, metric, kStorages[random() % 3]});
    const uint32_t n_docs = 1 + random() % (round % 4 == 0 ? 6000 : 300);
    base::Bitmap dead(n_docs + 1);
    std::vector<uint16_t> live;
    for (uint32_t doc = 0, run_end = 0, sparsity = 0; doc < n_docs; ++doc) {
      if (doc == run_end) {
        run_end += 1 + random() % 3000;
        sparsity = random() % 3;  // 0: no vectors in this run
      }
      column.append(
          doc, sparsity != 0 && random() % sparsity == 0 ? random_vector(random, dim) : std::vector<float>{});
      if (random() % 5 == 0) dead.set(doc);
    }
    if (!column.codes()) continue;
    const uint32_t seen = random() % (n_docs + 1), first = random() % 2 ? 0 : random() % (seen + 1);
    for (uint32_t doc = 0; doc < seen; ++doc) {
      if (!dead.test(doc)) live.push_back(static_cast<uint16_t>(doc));
    }
    PreparedQuery query;
    prepare_query(column.options(), random_vector(random, dim), query);
    CHECK(prepare_code_query(column.options(), query.elements, query.square, query.code));
    const size_t k = 1 + random() % (random() % 2 ? 10 : 100);
    const ChunkVectors vectors{seen, &dead, &column};
    base::TopK best;
    best.reset(k);
    scan_codes(vectors, 2, first, query, kWide, scratch, best);
    CHECK_EQ(best.finish(), scan_one_by_one(column, seen, &dead, 2, first, query, k));
    best.reset(k);
    gather_codes(vectors, 2, live, query, kWide, scratch, best);
    CHECK_EQ(best.finish(), scan_one_by_one(column, seen, &dead, 2, 0, query, k));
    best.reset(k);
    gather_chunk(vectors, 2, live, query, best);
    CHECK_EQ(best.finish(), scan_one_by_one(column, seen, &dead, 2, 0, query, k));
  }
  base::collect_retired();
}

// For many documents, those that will probably be scored are guessed from the first block (code_scan.cpp):
// whatever it contains, the result equals that of a loop. Two chunks into one top-k: the second begins
// with a threshold.
TEST(scan_of_many_codes_equals_a_loop_whatever_the_first_block_is_like) {
  constexpr float kMargin = 6.0f;
  constexpr uint32_t kDim = 256, kBlock = 1024;
  enum class First { alike, nearest, farthest, empty, half };
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  CodeScanScratch scratch;
  for (int round = 0; round < 20; ++round) {
    const auto first_block = static_cast<First>(round % 5);
    const uint32_t n_docs = 2500 + random() % 4000;
    std::vector<float> centre(kDim);
    for (float& x : centre) x = normal(random);
    Column column({kDim, round % 2 ? Metric::cosine : Metric::l2, Storage::f16});
    base::Bitmap dead(n_docs);
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      const bool special = doc < kBlock;
      if (special && (first_block == First::empty || (first_block == First::half && doc < kBlock / 2))) {
        column.append(doc, {});
        continue;
      }
      const float along = !special                         ? 0.0f
                          : first_block == First::nearest  ? 1.0f
                          : first_block == First::farthest ? -1.0f
                                                           : 0.0f;
      std::vector<float> vector(kDim);
      for (uint32_t i = 0; i < kDim; ++i) vector[i] = along * centre[i] + normal(random);
      column.append(doc, vector);
      if (round % 3 == 0 && random() % 4 == 0) dead.set(doc);
    }
    PreparedQuery query;
    prepare_query(column.options(), centre, query);
    CHECK(prepare_code_query(column.options(), query.elements, query.square, query.code));
    const base::Bitmap* bitmap = round % 3 == 0 ? &dead : nullptr;
    const uint32_t first = round % 4 == 1 ? random() % 300 : 0;
    const size_t k = round % 2 ? 10 : 100;
    const ChunkVectors vectors{n_docs, bitmap, &column};
    base::TopK best;
    best.reset(k);
    (void)scan_codes(vectors, 0, first, query, kMargin, scratch, best);
    (void)scan_codes(vectors, 1, 0, query, kMargin, scratch, best);
    std::vector<uint64_t> expected = scan_one_by_one(column, n_docs, bitmap, 0, first, query, k);
    const std::vector<uint64_t> second = scan_one_by_one(column, n_docs, bitmap, 1, 0, query, k);
    expected.insert(expected.end(), second.begin(), second.end());
    std::sort(expected.begin(), expected.end(), std::greater<>());
    expected.resize(k);
    CHECK_EQ(best.finish(), expected);
  }
  base::collect_retired();
}

TEST(scan_of_no_column_finds_nothing) {
  PreparedQuery query;
  prepare_query({4, Metric::cosine, Storage::f16}, std::vector<float>{1, 2, 3, 4}, query);
  CHECK(scan({100, nullptr, nullptr}, 0, 0, query, 5).empty());
  const Column empty({4, Metric::cosine, Storage::f16});
  CHECK(scan({100, nullptr, &empty}, 0, 0, query, 5).empty());
}

// A few vectors far apart: most rows between them, and whole blocks, were never allocated.
TEST(scan_reads_no_row_that_was_never_written) {
  std::mt19937 random(2);
  for (const Storage storage : kStorages) {
    for (const std::set<uint32_t>& docs :
         {std::set<uint32_t>{0, 1500}, {3, 1024}, {63, 64, 5000}, {1030, 2050, 4100}, {0, 65535}}) {
      Column column({16, Metric::cosine, storage});
      for (const uint32_t doc : docs) column.append(doc, random_vector(random, 16));
      PreparedQuery query;
      prepare_query(column.options(), random_vector(random, 16), query);
      const uint32_t n_docs = *docs.rbegin() + 1;
      CHECK_EQ(scan({n_docs, nullptr, &column}, 0, 0, query, 10),
               scan_one_by_one(column, n_docs, nullptr, 0, 0, query, 10));
    }
    Column column({16, Metric::cosine, storage});  // with documents without a vector
    column.append(0, random_vector(random, 16));
    for (uint32_t doc = 1; doc < 60; ++doc) column.append(doc, {});
    PreparedQuery query;
    prepare_query(column.options(), random_vector(random, 16), query);
    CHECK_EQ(scan({60, nullptr, &column}, 0, 0, query, 10).size(), 1);
  }
  base::collect_retired();
}
