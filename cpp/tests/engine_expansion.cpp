// The ef of a search follows recall, k and the graph's trial.
#include "engine/expansion.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"

using namespace scrubjay::engine;

namespace {

ExpansionScales scales_of(const std::vector<double>& given) {
  ExpansionScales scales;
  for (size_t r = 0; r < ExpansionScales::kRecalls.size(); ++r)
    for (size_t w = 0; w < ExpansionScales::kWanted.size(); ++w)
      scales.set(r, w, given[r * ExpansionScales::kWanted.size() + w]);
  return scales;
}

const std::vector<double> kGiven{3.5, 2.7, 3.6, 2.4, 2.7, 1.6};

}  // namespace

TEST(expansion_grows_with_recall_and_k) {
  for (const ExpansionScales& scales : {ExpansionScales(), scales_of(kGiven)}) {
    for (size_t k = 1; k <= 1000; k += 1 + k / 3) {
      size_t last = 0;
      for (double recall = 0.5; recall < 1.0; recall += 0.003) {
        const size_t expansion = expansion_for(recall, k, scales);
        CHECK(expansion > k);
        CHECK(expansion >= last);
        CHECK(expansion <= expansion_for(recall, k + 1 + k / 2, scales));
        CHECK_EQ(expansion_among(recall, k, 1.0, scales), expansion);
        CHECK(expansion_among(recall, k, 0.5, scales) >= expansion);
        CHECK(far_enough(recall, k, expansion, scales));
        CHECK(!far_enough(recall, expansion + 1, expansion, scales));
        last = expansion;
      }
    }
  }
}

TEST(expansion_is_what_the_trial_found) {
  const ExpansionScales scales = scales_of(kGiven);
  for (size_t r = 0; r < ExpansionScales::kRecalls.size(); ++r) {
    for (size_t w = 0; w < ExpansionScales::kWanted.size(); ++w) {
      const double recall = ExpansionScales::kRecalls[r];
      const size_t wanted = ExpansionScales::kWanted[w];
      const double scale = scales.expansion(recall, wanted) / usual_expansion(recall, wanted);
      const double given = kGiven[r * ExpansionScales::kWanted.size() + w];
      CHECK(scale >= given * (1.0 - 1e-6));
      CHECK(scale <= given * 1.0225);
    }
  }
  // Beyond the calibrated points.
  const auto scale = [&](double recall, size_t k) {
    return scales.expansion(recall, k) / usual_expansion(recall, k);
  };
  CHECK(std::abs(scale(0.5, 1) - scale(0.9, 10)) < 1e-9);
  CHECK(std::abs(scale(0.9999, 5000) - scale(0.99, 50)) < 1e-9);
  CHECK(std::abs(scale(1.0, 50) - scale(0.99, 50)) < 1e-9);
}

TEST(expansion_scales_are_kept_as_a_number) {
  CHECK_EQ(ExpansionScales().packed(), uint64_t{0});
  const auto same = [](const ExpansionScales& a, const ExpansionScales& b) {
    for (const double recall : ExpansionScales::kRecalls)
      for (const size_t wanted : ExpansionScales::kWanted)
        CHECK_EQ(a.expansion(recall, wanted), b.expansion(recall, wanted));
  };
  for (const ExpansionScales& scales : {ExpansionScales(), scales_of(kGiven), scales_of({1, 1, 1, 1, 1, 1.2}),
                                        scales_of({99, 1, 32, 1, 2, 0})})
    same(ExpansionScales::unpacked(scales.packed()), scales);
  same(ExpansionScales::unpacked(2 * 1024), scales_of({2, 2, 2, 2, 2, 2}));  // the earlier format
  same(ExpansionScales::unpacked(1), ExpansionScales());
  for (const double recall : ExpansionScales::kRecalls)  // damaged despite the checksum: still a valid value
    CHECK(ExpansionScales::unpacked(~uint64_t{0}).expansion(recall, 10) <=
          ExpansionScales::kGreatest * usual_expansion(recall, 10) * 1.001);
}
