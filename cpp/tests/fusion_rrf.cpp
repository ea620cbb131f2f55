// Reciprocal rank fusion is the sum of the formula, with its order of additions and ties.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "check.hpp"
#include "fusion/fuse.hpp"

using namespace scrubjay::fusion;

namespace {

struct Given {
  std::vector<uint32_t> docs;
  double weight;
};

std::vector<std::pair<double, uint32_t>> fuse_plainly(const std::vector<Given>& rankings, double rrf_k) {
  std::map<uint32_t, double> scores;
  for (const Given& ranking : rankings) {
    for (size_t i = 0; i < ranking.docs.size(); ++i)
      scores[ranking.docs[i]] += ranking.weight / (rrf_k + static_cast<double>(i + 1));
  }
  std::vector<std::pair<double, uint32_t>> fused;
  for (const auto& [doc, score] : scores) fused.emplace_back(score, doc);
  std::stable_sort(fused.begin(), fused.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return fused;
}

// The first two are the arms' rankings, with scores that rank fusion ignores.
std::vector<std::pair<double, uint32_t>> fuse(Candidates& candidates, const std::vector<Given>& rankings,
                                              double rrf_k) {
  Options options;
  options.method = Method::rrf;
  options.rrf_k = rrf_k;
  std::vector<std::vector<uint32_t>> extra;
  candidates.reset(0);
  for (size_t r = 0; r < rankings.size(); ++r) {
    double score = 1e6;
    if (r == 0) {
      options.lexical_weight = rankings[r].weight;
      for (const uint32_t doc : rankings[r].docs) candidates.add_lexical(doc, --score);
    } else if (r == 1) {
      options.vector_weight = rankings[r].weight;
      for (const uint32_t doc : rankings[r].docs) candidates.add_vector(doc, --score);
    } else {
      options.ranking_weights.push_back(rankings[r].weight);
      extra.push_back(rankings[r].docs);
    }
  }
  CHECK(std::isnan(fuse(options, extra, 3, {}, candidates)));
  std::vector<std::pair<double, uint32_t>> fused;
  for (const Candidate& candidate : candidates.all()) fused.emplace_back(candidate.score, candidate.doc);
  std::sort(fused.begin(), fused.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return fused;
}

void check_fusion(Candidates& candidates, const std::vector<Given>& rankings, double rrf_k) {
  CHECK(fuse(candidates, rankings, rrf_k) == fuse_plainly(rankings, rrf_k));  // the same bits
}

}  // namespace

TEST(rrf_equals_a_map_of_sums) {
  std::mt19937 random(1);
  Candidates fusion;  // one for all, as in a thread
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
    check_fusion(fusion, rankings, random() % 3 == 0 ? 0.0 : 60.0);
  }
}

TEST(rrf_scores_of_mirrored_rankings_tie) {
  Candidates candidates;
  const auto fused = fuse(candidates, {{{9, 4}, 1.0}, {{4, 9}, 1.0}}, 60.0);
  CHECK_EQ(fused[0].second, 4);
  CHECK_EQ(fused[1].second, 9);
  CHECK(fused[0].first == fused[1].first);
}

TEST(rrf_of_empty_rankings_is_empty) {
  Candidates fusion;
  check_fusion(fusion, {}, 60.0);
  check_fusion(fusion, {{{}, 1.0}, {{}, 1.0}}, 60.0);
}

TEST(rrf_of_one_ranking_keeps_its_order) {
  Candidates fusion;
  std::vector<uint32_t> docs;
  for (uint32_t i = 0; i < 1000; ++i) docs.push_back((i * 7919) % 65536 + (i % 3 << 16));
  check_fusion(fusion, {{docs, 0.5}}, 60.0);
}

TEST(score_parts_sum_to_the_score) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (int round = 0; round < 200; ++round) {
    Candidates candidates;
    candidates.reset(0);
    for (uint32_t doc = 0; doc < 8; ++doc) candidates.add_lexical(doc, 9.0 - doc);
    for (uint32_t doc = 4; doc < 12; ++doc) candidates.add_vector(doc, number(random));
    Options options;
    options.method = static_cast<Method>(round % 5);
    options.normalise = static_cast<Normalise>(round / 5 % 4);
    options.literal = round % 3 == 0;
    const std::vector<std::vector<uint32_t>> rankings = {{3, 20}, {20, 5}};
    std::vector<ScoreParts> parts = {ScoreParts{1.0}};
    const Scale scale{1.5, 0.1, 0.3};
    Candidates plain = candidates;
    fuse(options, rankings, 3, scale, candidates, &parts);
    fuse(options, rankings, 3, scale, plain);
    CHECK_EQ(parts.size(), candidates.all().size());
    for (size_t i = 0; i < parts.size(); ++i) {
      CHECK_EQ(candidates.all()[i].score, plain.all()[i].score);
      CHECK(std::abs(parts[i].sum() - candidates.all()[i].score) < 1e-12);
    }
  }
}
