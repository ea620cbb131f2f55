// Is reciprocal rank fusion the sum that the formula says, in its order of additions and ties?
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "check.hpp"
#include "fusion/rrf.hpp"

using namespace scrubjay::fusion;

namespace {

struct Given {
  std::vector<uint32_t> docs;
  double weight;
};

std::vector<std::pair<double, uint32_t>> fuse_plainly(const std::vector<Given>& rankings, double rrf_k,
                                                      size_t k) {
  std::map<uint32_t, double> scores;
  for (const Given& ranking : rankings) {
    for (size_t i = 0; i < ranking.docs.size(); ++i)
      scores[ranking.docs[i]] += ranking.weight / (rrf_k + static_cast<double>(i + 1));
  }
  std::vector<std::pair<double, uint32_t>> fused;
  for (const auto& [doc, score] : scores) fused.emplace_back(score, doc);
  std::stable_sort(fused.begin(), fused.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  fused.resize(std::min(k, fused.size()));
  return fused;
}

void check_fusion(RankFusion& fusion, const std::vector<Given>& rankings, double rrf_k, size_t k) {
  std::vector<Ranking> views;
  for (const Given& ranking : rankings) views.push_back({ranking.docs, ranking.weight});
  const auto fused = fusion.fuse(views, rrf_k, k);
  const auto expected = fuse_plainly(rankings, rrf_k, k);
  CHECK_EQ(fused.size(), expected.size());
  for (size_t i = 0; i < std::min(fused.size(), expected.size()); ++i) {
    CHECK(fused[i].score == expected[i].first);  // the same bits
    CHECK_EQ(fused[i].doc, expected[i].second);
  }
}

}  // namespace

TEST(rrf_equals_a_map_of_sums) {
  std::mt19937 random(1);
  RankFusion fusion;  // one for all, as a thread keeps it
  for (int round = 0; round < 3000; ++round) {
    std::vector<Given> rankings(random() % 5);
    const uint32_t n_docs = 1 + random() % 60, stride = 1 + random() % 3 * 65536;
    for (Given& ranking : rankings) {
      for (uint32_t doc = 0; doc < n_docs; ++doc) {
        if (random() % 2) ranking.docs.push_back(doc * stride);
      }
      std::shuffle(ranking.docs.begin(), ranking.docs.end(), random);
      ranking.weight = random() % 4 == 0 ? 0.0 : random() % 2 ? 1.0 : 0.3;
    }
    check_fusion(fusion, rankings, random() % 3 == 0 ? 0.0 : 60.0, 1 + random() % 100);
  }
}

TEST(rrf_ranks_ties_by_document) {
  RankFusion fusion;
  check_fusion(fusion, {{{9, 4}, 1.0}, {{4, 9}, 1.0}}, 60.0, 2);
  const std::vector<uint32_t> a{9, 4}, b{4, 9};
  const Ranking rankings[] = {{a, 1.0}, {b, 1.0}};
  const auto fused = fusion.fuse(rankings, 60.0, 10);
  CHECK_EQ(fused[0].doc, 4);
  CHECK_EQ(fused[1].doc, 9);
  CHECK(fused[0].score == fused[1].score);
}

TEST(rrf_of_nothing_is_nothing) {
  RankFusion fusion;
  check_fusion(fusion, {}, 60.0, 5);
  check_fusion(fusion, {{{}, 1.0}, {{}, 1.0}}, 60.0, 5);
}

TEST(rrf_of_one_ranking_keeps_its_order) {
  RankFusion fusion;
  std::vector<uint32_t> docs;
  for (uint32_t i = 0; i < 1000; ++i) docs.push_back((i * 7919) % 65536 + (i % 3 << 16));
  check_fusion(fusion, {{docs, 0.5}}, 60.0, 1000);
  check_fusion(fusion, {{docs, 0.5}}, 60.0, 10);
}
