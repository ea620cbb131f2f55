// A selection keeps the best k, in any order of candidates, and its kernels count correctly.
#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "base/topk.hpp"
#include "check.hpp"
#include "lexical/selection.hpp"
#include "simd/kernels.hpp"

using scrubjay::lexical::Selection;
namespace base = scrubjay::base;
namespace simd = scrubjay::simd;

TEST(simd_greater_values_are_counted_at_every_level) {
  std::mt19937 random(6);
  for (size_t n = 0; n <= simd::kComparedValues; ++n) {
    for (const uint32_t range : {4u, 300u, 0xffffffffu}) {
      std::vector<int32_t> values(simd::kComparedValues), counts(simd::kComparedValues);
      for (int32_t& value : values) value = static_cast<int32_t>(random() % range);
      for (const simd::Kernels* level : simd::available_kernels()) {
        level->count_greater(values.data(), n, counts.data());
        for (size_t i = 0; i < n; ++i)
          CHECK_EQ(counts[i], std::count_if(values.begin(), values.begin() + static_cast<ptrdiff_t>(n),
                                            [&](int32_t value) { return value > values[i]; }));
      }
    }
  }
}

// Like bounds of similarities: crowded around zero, some of them absent.
TEST(simd_kth_greatest_finds_floats_of_both_signs) {
  std::mt19937 random(3);
  std::normal_distribution<float> similarity(0.0f, 0.1f);
  for (int round = 0; round < 1000; ++round) {
    std::vector<uint32_t> values(1 + random() % 1500);
    for (uint32_t& value : values) {
      const float one = random() % 9 == 0 ? -std::numeric_limits<float>::infinity() : similarity(random);
      value = base::sortable_float(one) >> 1;
    }
    std::vector<uint32_t> sorted = values;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const size_t k = 1 + random() % values.size();
    for (const simd::Kernels* level : simd::available_kernels())
      CHECK_EQ(level->kth_greatest(values.data(), values.size(), k, 0), sorted[k - 1]);
  }
}

TEST(simd_kth_greatest_is_that_of_a_sorted_copy_at_every_level) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const size_t n = round % 5 == 0 ? random() % 700 : random() % 70;
    const uint32_t range = round % 3 == 0 ? 5 : round % 3 == 1 ? 1000 : 0x7fffffffu;
    std::vector<uint32_t> values(n);
    for (uint32_t& value : values) value = random() % range;
    std::vector<uint32_t> sorted = values;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const size_t k = 1 + random() % (n + 3);
    const uint32_t below = random() % 3 == 0 ? random() % range : 0;
    const uint32_t expected = k <= n && sorted[k - 1] > below ? sorted[k - 1] : below;
    for (const simd::Kernels* level : simd::available_kernels())
      CHECK_EQ(level->kth_greatest(values.data(), n, k, below), expected);
  }
}

TEST(simd_keep_above_keeps_the_order_at_every_level) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const size_t n = random() % 100;
    std::vector<uint32_t> positions(n + 16), scores(n + 16), expected;
    for (size_t i = 0; i < n; ++i) {
      positions[i] = static_cast<uint32_t>(random());
      scores[i] = random() % 40;
    }
    const uint32_t threshold = random() % 41;
    for (size_t i = 0; i < n; ++i) {
      if (scores[i] > threshold) expected.insert(expected.end(), {positions[i], scores[i]});
    }
    for (const simd::Kernels* level : simd::available_kernels()) {
      std::vector<uint32_t> kept_positions = positions, kept_scores = scores, found;
      const size_t n_kept = level->keep_above(kept_positions.data(), kept_scores.data(), n, threshold);
      for (size_t i = 0; i < n_kept; ++i) found.insert(found.end(), {kept_positions[i], kept_scores[i]});
      CHECK_EQ(found, expected);
    }
  }
}

TEST(simd_harvest_listed_takes_each_sum_once_at_every_level) {
  std::mt19937 random(4);
  for (int round = 0; round < 1000; ++round) {
    std::vector<uint32_t> sums(200);
    for (uint32_t& sum : sums) sum = random() % 3 ? random() % 100 : 0;
    std::vector<uint16_t> offsets;
    for (uint32_t i = 0; i < sums.size(); ++i) {
      if (random() % (1 + round % 7) == 0) offsets.push_back(static_cast<uint16_t>(i));
    }
    const uint32_t threshold = random() % 100;
    std::vector<uint32_t> expected, left = sums;
    for (const uint16_t offset : offsets) {
      if (sums[offset] > threshold) expected.insert(expected.end(), {offset, sums[offset]});
      left[offset] = 0;
    }
    for (const simd::Kernels* level : simd::available_kernels()) {
      std::vector<uint32_t> own = sums, positions(offsets.size() + 16), scores(offsets.size() + 16), found;
      const size_t n = level->harvest_listed(offsets.data(), offsets.size(), own.data(), threshold,
                                             positions.data(), scores.data());
      for (size_t i = 0; i < n; ++i) found.insert(found.end(), {positions[i], scores[i]});
      CHECK_EQ(found, expected);
      CHECK_EQ(own, left);
    }
  }
}

TEST(lexical_selection_keeps_the_best_k_in_their_order) {
  std::mt19937 random(3);
  std::vector<std::unique_ptr<Selection>> selections;
  for (const simd::Kernels* level : simd::available_kernels())
    selections.push_back(std::make_unique<Selection>(*level));
  for (int round = 0; round < 3000; ++round) {
    const size_t k = 1 + random() % (round % 4 == 0 ? 1000 : round % 4 == 1 ? 100 : 12);
    const uint32_t range = random() % 2 ? 6 : random() % 2 ? 300 : 1u << 30;  // many ties, some, hardly any
    const bool crowded = random() % 5 == 0;  // all but a few scores in a small part of the range
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> windows(random() % 8);
    std::vector<uint64_t> expected;
    uint32_t doc = 0;
    for (auto& window : windows) {
      for (size_t n = random() % (random() % 4 ? 50 : 1500); n > 0; --n) {
        doc += 1 + random() % 3;
        uint32_t score = 1 + random() % range;
        if (crowded && random() % 30 != 0) score = 1 + score / 1000;
        window.emplace_back(doc, score);
        expected.push_back(base::candidate_key(score, doc));
      }
    }
    std::sort(expected.begin(), expected.end(), std::greater<>());
    if (expected.size() > k) expected.resize(k);
    const bool seeded = expected.size() == k && random() % 3 == 0;
    for (const auto& selection : selections) {
      selection->reset(k);
      if (seeded) selection->raise_threshold(base::key_score(expected.back()));
      uint32_t threshold = 0;
      for (const auto& window : windows) {
        CHECK(selection->threshold() >= threshold);
        threshold = selection->threshold();
        selection->make_room(window.size());
        size_t n = 0;
        for (const auto& [at, score] : window) {
          if (score <= threshold) continue;
          selection->positions()[n] = at - window.front().first;
          selection->scores()[n++] = score;
        }
        if (n > 1 && window.size() % 2 == 0) {  // the order within a window does not matter
          std::reverse(selection->positions(), selection->positions() + n);
          std::reverse(selection->scores(), selection->scores() + n);
        }
        selection->add(n, window.empty() ? 0 : window.front().first);
      }
      base::TopK best;
      best.reset(k);
      selection->finish(best);
      CHECK_EQ(best.finish(), expected);
    }
  }
}
