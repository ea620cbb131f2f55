// Documents with passages are found by their nearest passage, by rows and by codes, whatever
// was written before.
#include <algorithm>
#include <random>
#include <vector>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "check.hpp"
#include "storages.hpp"
#include "vector/code_scan.hpp"
#include "vector/passages.hpp"

using namespace scrubjay::vector;
namespace base = scrubjay::base;

namespace {

struct Encoded {
  std::vector<char> rows;
  std::vector<RowScale> scales;
  std::vector<PassageSpan> spans;

  Encoded(std::mt19937& random, const ColumnOptions& options, uint32_t n) : rows(n * options.row_bytes()) {
    std::vector<float> vector(options.dim);
    for (uint32_t i = 0; i < n; ++i) {
      for (float& x : vector) x = static_cast<float>(static_cast<int>(random() % 7)) - 3.0f;
      vector[random() % options.dim] += 0.5f;
      scales.push_back(encode_row(options, vector, rows.data() + i * options.row_bytes()));
      spans.push_back({i, i + 7});
    }
  }
};

std::vector<uint64_t> one_by_one(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                                 const PreparedQuery& query, size_t k) {
  std::vector<uint64_t> keys;
  for (uint32_t doc = 0; doc < docs.n_docs; ++doc) {
    const PassageEntry* entry = passages.find(doc);
    if (!entry || (docs.dead && docs.dead->test(doc))) continue;
    const NearestPassage nearest = passages.nearest(*entry, query);
    keys.push_back(base::candidate_key(base::sortable_float(nearest.similarity), chunk << 16 | doc));
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.resize(std::min(k, keys.size()));
  return keys;
}

}  // namespace

// With bounds so wide that codes exclude nothing that belongs among the best.
TEST(passages_are_folded_to_the_nearest_of_each_document) {
  constexpr float kWide = 40.0f;
  std::mt19937 random(11);
  CodeScanScratch scratch;
  for (int round = 0; round < 100; ++round) {
    const uint32_t dim = round % 3 == 0 ? 1 + random() % 40 : kLeastCodedDim + random() % 80;
    const ColumnOptions options{dim, static_cast<Metric>(random() % 3), kStorages[random() % 3]};
    Passages passages(options);
    const uint32_t n_docs = 1 + random() % (round % 10 == 0 ? 1500 : 120);
    base::Bitmap dead(n_docs + 1);
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      if (random() % 5 == 0) dead.set(doc);
      if (random() % 3 == 0) continue;
      const auto append = [&](uint32_t n) {
        const Encoded encoded(random, options, n);
        passages.drop_from(doc);
        passages.append(doc, encoded.scales, encoded.rows.data(), encoded.spans);
      };
      for (uint32_t failures = random() % 9 == 0 ? 1 + random() % 3 : 0; failures != 0; --failures)
        append(1 + random() % 90);  // left behind by a failed write
      append(1 + random() % 6);
      if (random() % 2) passages.publish(doc + 1);
    }
    CHECK(passages.entries().empty() || passages.entries().back().doc < n_docs);
    passages.publish(n_docs);
    const uint32_t seen = random() % (n_docs + 1), chunk = random() % 3;
    const ChunkDocuments docs{seen, random() % 3 == 0 ? nullptr : &dead};
    PreparedQuery query;
    std::vector<float> asked(dim);
    for (float& x : asked) x = static_cast<float>(static_cast<int>(random() % 7)) - 2.5f;
    prepare_query(options, asked, query);
    const size_t k = 1 + random() % (random() % 2 ? 10 : 100);
    const std::vector<uint64_t> expected = one_by_one(passages, docs, chunk, query, k);
    base::TopK best;
    best.reset(k);
    const size_t n_looked_at = scan_passages(passages, docs, chunk, query, scratch, best);
    CHECK_EQ(best.finish(), expected);
    CHECK(n_looked_at >= expected.size());
    if (!passages.rows().codes()) continue;
    CHECK(prepare_code_query(options, query.elements, query.square, query.code));
    best.reset(k);
    CHECK(scan_passage_codes(passages, docs, chunk, query, kWide, scratch, best) <= n_looked_at);
    CHECK_EQ(best.finish(), expected);
  }
  base::collect_retired();
}

TEST(passages_of_another_chunk_are_copied_bit_for_bit) {
  std::mt19937 random(5);
  const ColumnOptions options{70, Metric::cosine, Storage::f16};
  Passages from(options), to(options);
  for (uint32_t doc = 0; doc < 50; doc += 2) {
    const Encoded encoded(random, options, 1 + doc % 4);
    from.append(doc, encoded.scales, encoded.rows.data(), encoded.spans);
  }
  from.publish(50);
  for (uint32_t doc = 10, offset = 0; doc < 50; doc += 2, ++offset)
    to.append_copy(offset, from, *from.find(doc));
  to.publish(20);
  CHECK_EQ(to.entries().size(), 20u);
  CHECK(!to.find(20) && !from.find(11));
  std::vector<float> a(70), b(70);
  for (uint32_t offset = 0; offset < 20; ++offset) {
    const PassageEntry &copy = *to.find(offset), &original = *from.find(10 + 2 * offset);
    CHECK_EQ(copy.n, original.n);
    for (uint32_t i = 0; i < copy.n; ++i) {
      to.rows().read(copy.first + i, a);
      from.rows().read(original.first + i, b);
      CHECK_EQ(a, b);
      CHECK_EQ(to.span(copy.first + i).end, from.span(original.first + i).end);
    }
  }
  base::collect_retired();
}
