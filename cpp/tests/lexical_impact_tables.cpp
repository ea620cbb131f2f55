// Tables that share a sheet do not interfere, at every level that fills them.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "lexical/bm25.hpp"
#include "lexical/impact_tables.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay::lexical;
namespace simd = scrubjay::simd;

namespace {

struct Filled {
  uint32_t* table;
  uint32_t last_tf, first, last;
  float weight;
};

}  // namespace

TEST(impact_tables_keep_their_contents_apart) {
  std::vector<float> norms(kMaxLengthCode + 1 + 16);
  for (size_t i = 0; i < norms.size(); ++i) norms[i] = 0.3f + 0.01f * static_cast<float>(i);
  for (const simd::Kernels* level : simd::available_kernels()) {
    std::mt19937 generator(5);
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(generator() % limit); };
    ImpactTables tables;
    for (int query = 0; query < 6; ++query) {  // the sheets of one query are reused by the next
      tables.clear();
      std::vector<Filled> all;
      for (int t = 0; t < 60; ++t) {
        const bool wide = below(8) == 0;
        const uint32_t first = below(wide ? 3 : kMaxLengthCode + 1);
        const uint32_t last = wide ? kMaxLengthCode - below(3) : std::min(kMaxLengthCode, first + below(200));
        const Filled one{tables.take(first, last), 1 + below(kMaxTf), first, last,
                         1000.0f + static_cast<float>(below(1000))};
        CHECK(one.table != nullptr);
        level->fill_impacts(one.weight, 1, norms.data(), 1, one.last_tf, first, last, one.table);
        all.push_back(one);
      }
      for (const Filled& one : all) {
        for (uint32_t tf = 1; tf <= one.last_tf; ++tf) {
          for (const uint32_t code : {one.first, (one.first + one.last) / 2, one.last})
            CHECK_EQ(one.table[pack_payload(tf, code)], contribution(one.weight, tf, norms[code]));
        }
      }
    }
  }
}

TEST(impact_tables_return_null_when_full) {
  ImpactTables tables;
  for (size_t sheet = 0; sheet < ImpactTables::kMostSheets; ++sheet)
    CHECK(tables.take(0, kMaxLengthCode) != nullptr);
  CHECK(tables.take(7, 7) == nullptr);
  tables.clear();
  CHECK(tables.take(7, 7) != nullptr);
}
