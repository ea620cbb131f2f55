// Signs give correct estimates at every level, and a scan that compares signs first finds what a complete
// scan finds.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "check.hpp"
#include "simd/kernels.hpp"
#include "storages.hpp"
#include "vector/code_scan.hpp"
#include "vector/scan.hpp"

using namespace scrubjay::vector;
namespace base = scrubjay::base;
namespace simd = scrubjay::simd;

namespace {

constexpr size_t kDims = 128;

std::vector<float> normal_vector(std::mt19937& random, uint32_t dim) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(dim);
  for (float& x : vector) x = normal(random);
  return vector;
}

// Vectors around one of several centres, so that few documents are near a query.
class Clusters {
 public:
  Clusters(std::mt19937& random, uint32_t dim, size_t n) : random_(random) {
    for (size_t i = 0; i < n; ++i) centres_.push_back(normal_vector(random, dim));
  }
  std::vector<float> draw() {
    std::vector<float> vector = centres_[random_() % centres_.size()];
    std::normal_distribution<float> normal(0.0f, 0.7f);
    for (float& x : vector) x += normal(random_);
    return vector;
  }

 private:
  std::mt19937& random_;
  std::vector<std::vector<float>> centres_;
};

bool sign_of_code(const uint8_t* row, size_t i) {
  const uint8_t byte = row[i / kDims * 64 + i % 64];
  return ((i % kDims < 64 ? byte : byte >> 4) & 8) != 0;
}

bool sign_in_plane(const uint8_t* plane, size_t doc, size_t i) {
  const unsigned nibble = static_cast<unsigned>(plane[i / 4 * 16 + doc % 16]) >> (doc % 32 < 16 ? 0 : 4);
  return ((nibble >> (i % 4)) & 1u) != 0;
}

void check_signs_of(const Column& column) {
  const Codes& codes = *column.codes();
  const Signs& signs = *codes.signs();
  CHECK_EQ(signs.size(), codes.size() / 32 * 32);
  for (uint32_t doc = 0; doc < signs.size(); ++doc) {
    CHECK_EQ(signs.errors()[doc].has_code(), codes.errors()[doc].has_code());
    if (!codes.errors()[doc].has_code()) continue;
    const auto* code = reinterpret_cast<const uint8_t*>(codes.rows().row(doc));
    const uint8_t* plane = signs.plane(doc / 32 * 32);
    bool same = true;
    for (size_t i = 0; i < codes.n_blocks() * kDims; ++i)
      same = same && sign_in_plane(plane, doc, i) == sign_of_code(code, i);
    CHECK(same);
  }
}

std::vector<uint64_t> scan_all(const ChunkVectors& vectors, uint32_t first_doc, const PreparedQuery& query,
                               size_t k) {
  base::TopK best;
  best.reset(k);
  scan_chunk(vectors, 1, first_doc, query, best);
  return best.finish();
}

}  // namespace

TEST(tables_and_sums_of_signs_are_the_same_everywhere) {
  std::mt19937 random(1);
  for (const size_t n_blocks : {4u, 5u, 6u, 24u, 32u}) {
    for (const bool extreme : {false, true}) {
      const size_t n_fours = n_blocks * kDims / 4;
      std::vector<int8_t> elements(n_blocks * kDims);
      for (int8_t& x : elements) x = static_cast<int8_t>(extreme ? 31 : static_cast<int>(random() % 63) - 31);
      std::vector<uint8_t> planes(3 * n_fours * 16);
      for (uint8_t& x : planes) x = static_cast<uint8_t>(extreme ? 0xff : random());
      int32_t magnitudes = 0;
      for (const int8_t x : elements) magnitudes += std::abs(x);
      for (const simd::Kernels* level : simd::available_kernels()) {
        std::vector<uint8_t> tables(n_fours * 16);
        CHECK_EQ(level->sign_tables(elements.data(), n_fours, tables.data()), magnitudes);
        std::vector<int32_t> out(3 * 32);
        level->sum_signs(planes.data(), 3, n_fours, tables.data(), out.data());
        for (size_t doc = 0; doc < out.size(); ++doc) {
          int32_t product = 0;
          for (size_t i = 0; i < elements.size(); ++i)
            product +=
                (sign_in_plane(planes.data() + doc / 32 * n_fours * 16, doc % 32, i) ? 1 : -1) * elements[i];
          CHECK_EQ(2 * out[doc] - magnitudes, product);
        }
      }
    }
  }
}

TEST(signs_equal_those_of_the_codes_in_any_order_of_writes) {
  std::mt19937 random(2);
  for (const auto& metric : {Metric::cosine, Metric::inner_product, Metric::l2}) {
    Column column({400, metric, Storage::f16});
    const auto write = [&](uint32_t doc, bool has_vector) {
      column.append(doc, has_vector ? normal_vector(random, 400) : std::vector<float>{});
    };
    for (uint32_t doc = 0; doc < kSignedDocs - 1; ++doc) write(doc, random() % 4 != 0);
    CHECK_EQ(column.codes()->signs()->size(), 0);  // too few documents
    CHECK_EQ(column.codes()->signs()->memory_bytes(), 0);
    uint32_t end = kSignedDocs - 1, n_before = 0;
    for (; column.codes()->signs()->size() < end / 32 * 32; ++end) {
      write(end, random() % 4 != 0);
      const uint32_t n_laid = column.codes()->signs()->size();
      CHECK(n_laid - n_before <= 64);  // no single write takes long
      n_before = n_laid;
    }
    CHECK(end < kSignedDocs + 100);
    check_signs_of(column);
    // After a failed write of many, writing resumes at any position.
    for (uint32_t doc = end; doc < end + 70; ++doc) write(doc, true);
    check_signs_of(column);
    for (uint32_t doc = end; doc < end + 45; ++doc) write(doc, random() % 2 != 0);
    check_signs_of(column);
    write(end + 44, true);
    check_signs_of(column);
    // More documents without a vector in between than a block of rows holds.
    end += 3000;
    for (uint32_t doc = end; doc < end + 100; ++doc) write(doc, true);
    check_signs_of(column);
  }
  CHECK(!has_signs(384) && has_signs(385));
  base::collect_retired();
}

// The error has the distribution on which the bound relies: normal, with the stated width.
TEST(estimates_by_signs_err_as_they_say) {
  std::mt19937 random(3);
  constexpr uint32_t kDim = 768, kDocs = 2560;
  Column column({kDim, Metric::cosine, Storage::f32});
  Clusters clusters(random, kDim, 8);
  for (uint32_t doc = 0; doc < kDocs; ++doc) column.append(doc, clusters.draw());
  const Signs& signs = *column.codes()->signs();
  CHECK_EQ(signs.size(), kDocs);
  double squares = 0.0, sum = 0.0, most = 0.0;
  size_t n = 0;
  for (int round = 0; round < 20; ++round) {
    PreparedQuery query;
    prepare_query(column.options(), clusters.draw(), query);
    CHECK(prepare_code_query(column.options(), query.elements, query.square, query.code));
    SignQuery sign_query;
    prepare_sign_query(query.code, sign_query);
    std::vector<int32_t> sums(kDocs);
    for (uint32_t doc = 0; doc < kDocs; doc += 32)
      simd::kernels().sum_signs(signs.plane(doc), 1, kDim / 4, sign_query.tables.data(), sums.data() + doc);
    for (uint32_t doc = 0; doc < kDocs; ++doc, ++n) {
      const float estimate =
          static_cast<float>(2 * sums[doc] - sign_query.offset) * (signs.factors()[doc] * sign_query.scale);
      const double off = static_cast<double>(estimate - column.similarity(doc, query)) /
                         static_cast<double>(signs.errors()[doc].value());
      sum += off;
      squares += off * off;
      most = std::max(most, std::fabs(off));
    }
  }
  const double count = static_cast<double>(n);
  CHECK(std::fabs(sum / count) < 0.15);
  CHECK(std::sqrt(squares / count) > 0.7 && std::sqrt(squares / count) < 1.1);
  CHECK(most < 6.0);
}

TEST(a_scan_by_signs_finds_what_a_scan_of_all_finds) {
  constexpr float kMargin = 6.0f;  // missed once in a thousand million
  std::mt19937 random(4);
  CodeScanScratch scratch;
  size_t n_sifted_rounds = 0;
  for (int round = 0; round < 24; ++round) {
    const uint32_t dim = 385 + random() % 300;
    const auto metric = static_cast<Metric>(round % 3);
    Column column({dim, metric, kStorages[random() % 3]});
    Clusters clusters(random, dim, round % 4 == 0 ? 1 : 40);  // with one centre too many are near
    const uint32_t n_docs = 2600 + random() % 1500;
    base::Bitmap dead(n_docs + 1);
    const uint32_t sparsity = 1 + random() % 2;
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      column.append(doc, random() % sparsity == 0 && !(doc > 1100 && doc < 1250) ? clusters.draw()
                                                                                 : std::vector<float>{});
      if (random() % 5 == 0) dead.set(doc);
    }
    const uint32_t seen = n_docs - random() % 100, first = random() % 2 ? 0 : random() % 300;
    const base::Bitmap* bitmap = random() % 3 == 0 ? nullptr : &dead;
    PreparedQuery query;
    prepare_query(column.options(), clusters.draw(), query);
    CHECK(prepare_code_query(column.options(), query.elements, query.square, query.code));
    const size_t k = 1 + random() % 8;
    const ChunkVectors vectors{seen, bitmap, &column};
    base::TopK best;
    best.reset(k);
    scratch.sifted.clear();
    scan_codes(vectors, 1, first, query, kMargin, scratch, best);
    n_sifted_rounds += scratch.sifted.empty() ? 0 : 1;
    CHECK_EQ(best.finish(), scan_all(vectors, first, query, k));
    // After another chunk that has raised the threshold.
    base::TopK raised;
    raised.reset(k);
    scan_chunk({seen / 2, bitmap, &column}, 0, 0, query, raised);
    scan_codes(vectors, 1, first, query, kMargin, scratch, raised);
    base::TopK expected;
    expected.reset(k);
    scan_chunk({seen / 2, bitmap, &column}, 0, 0, query, expected);
    scan_chunk(vectors, 1, first, query, expected);
    CHECK_EQ(raised.finish(), expected.finish());
  }
  CHECK(n_sifted_rounds >= 12);
  base::collect_retired();
}

// Lengths beyond the range of bounds: such vectors are always scored.
TEST(vectors_that_cannot_be_compared_by_signs_are_found) {
  std::mt19937 random(5);
  for (const auto& metric : {Metric::inner_product, Metric::l2}) {
    Column column({512, metric, Storage::f32});
    Clusters clusters(random, 512, 40);
    for (uint32_t doc = 0; doc < 2500; ++doc) {
      std::vector<float> vector = clusters.draw();
      if (doc % 500 == 7) {
        for (float& x : vector) x *= 1e-20f;
      }
      column.append(doc, vector);
    }
    PreparedQuery query;
    prepare_query(column.options(), clusters.draw(), query);
    CHECK(prepare_code_query(column.options(), query.elements, query.square, query.code));
    CodeScanScratch scratch;
    base::TopK best;
    best.reset(3);
    const ChunkVectors vectors{2500, nullptr, &column};
    scan_codes(vectors, 1, 0, query, 6.0f, scratch, best);
    CHECK_EQ(best.finish(), scan_all(vectors, 0, query, 3));
    CHECK(std::count(scratch.sifted.begin(), scratch.sifted.end(), 507) == 1);
  }
  base::collect_retired();
}
