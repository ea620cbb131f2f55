// The bounded top-k keeps what sorting everything would put first.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "base/topk.hpp"
#include "check.hpp"

using namespace scrubjay::base;

namespace {

std::vector<uint64_t> best_by_sorting(std::vector<uint64_t> keys, size_t k) {
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.resize(std::min(k, keys.size()));
  return keys;
}

// The expected range of scores; a wrong one may only cost time.
struct Range {
  uint32_t least = 0, greatest = 0xffffffffu;
};

std::vector<uint64_t> best_by_top_k(TopK& best, const std::vector<uint64_t>& keys, size_t k,
                                    Range range = {}) {
  best.reset(k, range.least, range.greatest);
  for (const uint64_t key : keys) best.push(key);
  return best.finish();
}

}  // namespace

TEST(topk_equals_sorting) {
  std::mt19937 random(1);
  TopK best;  // one for all, as in a thread
  for (int round = 0; round < 3000; ++round) {
    const size_t n = random() % 300;
    const uint32_t n_scores = 1 + random() % 20;  // few scores: many ties
    std::vector<uint64_t> keys;
    for (size_t doc = 0; doc < n; ++doc) {
      keys.push_back(candidate_key(1 + random() % n_scores, static_cast<uint32_t>(doc)));
    }
    if (round % 3 == 1) std::reverse(keys.begin(), keys.end());
    if (round % 3 == 2) std::shuffle(keys.begin(), keys.end(), random);
    const size_t k = 1 + random() % (round % 2 ? 8 : 400);
    CHECK_EQ(best_by_top_k(best, keys, k), best_by_sorting(keys, k));
  }
}

TEST(topk_equals_sorting_whatever_scores_are_expected) {
  std::mt19937 random(5);
  TopK best;
  for (int round = 0; round < 400; ++round) {
    const size_t n = random() % 20'000;
    const uint32_t least = random() % 2 ? static_cast<uint32_t>(random()) : 0, spread = 1u << random() % 32;
    const auto score = [&] { return std::max(1u, static_cast<uint32_t>(least + random() % spread)); };
    std::vector<uint64_t> keys;
    for (size_t doc = 0; doc < n; ++doc) keys.push_back(candidate_key(score(), static_cast<uint32_t>(doc)));
    if (round % 4 == 1) std::sort(keys.begin(), keys.end());
    if (round % 4 == 2) std::sort(keys.begin(), keys.end(), std::greater<>());
    const size_t k = round % 5 == 0 ? 31 + random() % 4 : 1 + random() % 6000;
    const std::vector<uint64_t> expected = best_by_sorting(keys, k);
    for (const Range& range : {Range{}, Range{least, least + spread - 1}, Range{score(), score()},
                               Range{0, 0}, Range{7, 7 + 1023}, Range{0xffffffffu, 0xffffffffu}}) {
      CHECK(best_by_top_k(best, keys, k, range) == expected);
    }
  }
}

TEST(topk_pushes_many_at_once_as_one_by_one) {
  std::mt19937 random(6);
  TopK best;
  for (int round = 0; round < 2000; ++round) {
    const size_t k = 1 + random() % 100;
    const uint32_t n_scores = random() % 2 ? 5 : 0x7fffffff;
    std::vector<uint64_t> keys;
    best.reset(k);
    for (uint32_t doc = 0; doc < 400;) {
      const size_t n = random() % 90;
      for (size_t i = 0; i < n; ++i) keys.push_back(candidate_key(1 + random() % n_scores, doc++));
      best.push_all(n, [&](size_t i) { return keys[keys.size() - n + i]; });
      if (random() % 4 == 0 && keys.size() >= k)
        best.raise_threshold(key_score(best_by_sorting(keys, k).back()));
    }
    CHECK_EQ(best.finish(), best_by_sorting(keys, k));
  }
}

TEST(key_sorter_equals_sorting) {
  std::mt19937_64 random(7);
  KeySorter sorter;
  for (int round = 0; round < 4000; ++round) {
    const size_t n = random() % (round % 10 == 0 ? 700 : 140);
    // Equal, few distinct, crowded, spread over all numbers.
    const uint64_t n_scores = round % 4 == 0 ? 1 : round % 4 == 1 ? 6 : round % 4 == 2 ? 1000 : 0x100000000u;
    std::vector<uint64_t> keys;
    for (uint32_t doc = 0; doc < n; ++doc)
      keys.push_back(candidate_key(static_cast<uint32_t>(random() % n_scores), doc));
    std::shuffle(keys.begin(), keys.end(), random);
    std::vector<uint64_t> sorted = keys;
    sorter.sort(keys);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    CHECK_EQ(keys, sorted);
  }
}

TEST(topk_finishes_twice_with_the_same_answer) {
  std::mt19937 random(6);
  TopK best;
  for (int round = 0; round < 200; ++round) {
    const size_t k = 1 + random() % 200;
    best.reset(k, 0, 1u << 20);
    std::vector<uint64_t> keys;
    const uint32_t n = random() % 3000;
    for (uint32_t doc = 0; doc < n; ++doc) {
      keys.push_back(candidate_key(1 + random() % (1u << 20), doc));
      best.push(keys.back());
    }
    const std::vector<uint64_t> expected = best_by_sorting(keys, k);
    CHECK_EQ(best.finish(), expected);
    CHECK_EQ(best.finish(), expected);
  }
}

TEST(topk_of_one_and_of_more_than_there_are) {
  TopK best;
  const std::vector<uint64_t> keys{candidate_key(2, 7), candidate_key(3, 9), candidate_key(3, 8)};
  CHECK_EQ(best_by_top_k(best, keys, 1), std::vector<uint64_t>{candidate_key(3, 8)});
  CHECK_EQ(best_by_top_k(best, keys, 4),
           std::vector<uint64_t>{candidate_key(3, 8), candidate_key(3, 9), candidate_key(2, 7)});
  CHECK_EQ(best_by_top_k(best, keys, size_t{1} << 40).size(), 3);
  CHECK(best_by_top_k(best, {}, 5).empty());
}

TEST(topk_counts_equal_keys_like_sorting_does) {
  TopK best;
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < 40; ++i) keys.push_back(candidate_key(1 + random() % 3, random() % 3));
    const size_t k = 1 + random() % 50;
    CHECK_EQ(best_by_top_k(best, keys, k), best_by_sorting(keys, k));
  }
}

// Pruning by the threshold must lose nothing.
TEST(topk_threshold_never_falls_and_bounds_what_may_be_skipped) {
  std::mt19937 random(3);
  TopK best;
  for (int round = 0; round < 200; ++round) {
    const size_t k = 1 + random() % 60;
    best.reset(k, random() % 2 ? 0 : 20, random() % 2 ? 51 : 0xffffffffu);
    CHECK_EQ(best.threshold(), 0);
    std::vector<uint64_t> keys;
    uint64_t threshold = 0;
    for (uint32_t doc = 0; doc < 200; ++doc) {
      keys.push_back(candidate_key(1 + random() % 50, doc));
      if (keys.back() > best.threshold()) best.push(keys.back());
      CHECK(best.threshold() >= threshold);
      threshold = best.threshold();
      const std::vector<uint64_t> expected = best_by_sorting(keys, k);
      CHECK(threshold == 0 || (expected.size() == k && threshold <= expected.back()));
    }
    CHECK_EQ(best.finish(), best_by_sorting(keys, k));
  }
}

TEST(candidate_keys_order_by_score_then_by_lower_document) {
  CHECK(candidate_key(2, 5) > candidate_key(1, 0));
  CHECK(candidate_key(2, 4) > candidate_key(2, 5));
  for (const uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    CHECK_EQ(key_score(candidate_key(value, 3)), value);
    CHECK_EQ(key_doc(candidate_key(3, value)), value);
  }
}

TEST(sortable_floats_have_the_order_of_floats) {
  using limits = std::numeric_limits<float>;
  std::vector<float> values{-limits::infinity(),
                            limits::lowest(),
                            -1.0f,
                            -limits::min(),
                            -limits::denorm_min(),
                            0.0f,
                            limits::denorm_min(),
                            limits::min(),
                            1.0f,
                            std::nextafter(1.0f, 2.0f),
                            limits::max(),
                            limits::infinity()};
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    CHECK_EQ(values[i] < values[i + 1], sortable_float(values[i]) < sortable_float(values[i + 1]));
    CHECK(unsortable_float(sortable_float(values[i])) == values[i]);
  }
  CHECK_EQ(sortable_float(-0.0f), sortable_float(0.0f));
  CHECK(!std::signbit(unsortable_float(sortable_float(-0.0f))));
}
