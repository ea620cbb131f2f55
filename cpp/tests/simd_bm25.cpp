// The scoring kernels of every level equal contribution(), posting by posting.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "lexical/bm25.hpp"
#include "lexical/posting.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay::lexical;
namespace simd = scrubjay::simd;

namespace {

constexpr uint32_t kEntries = ((kMaxTf + 1) << kLengthBits) + 16;
constexpr uint32_t kUntouched = 0xdeadbeefu;

// Norms for the codes up to last_length and the 16 after them, as in a Weighting.
std::vector<float> random_norms(std::mt19937& random, uint32_t last_length) {
  std::vector<float> norms(last_length + 1 + 16);
  const float step = static_cast<float>(random() % 1000) * 1e-4f, first = random() % 4 == 0 ? 0.0f : 0.3f;
  for (size_t i = 0; i < norms.size(); ++i) norms[i] = first + step * static_cast<float>(i);
  return norms;
}

// Weights from those of very common terms to the greatest that fit into a candidate's key.
float random_weight(std::mt19937& random) {
  return std::ldexp(1.0f + static_cast<float>(random() % 1000) * 1e-3f, static_cast<int>(random() % 34) - 5);
}

}  // namespace

TEST(simd_impact_tables_hold_the_contributions_at_every_level) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const uint32_t max_tf = 1 + random() % kMaxTf, first_tf = 1 + random() % max_tf;
    const uint32_t first = random() % (kMaxLengthCode + 1);
    const uint32_t last =
        std::min(kMaxLengthCode, static_cast<uint32_t>(first + random() % (round % 3 == 0 ? 2048 : 40)));
    const uint32_t count = 1 + random() % 3;
    const std::vector<float> norms = random_norms(random, last);
    const float weight = random_weight(random);
    for (const simd::Kernels* level : simd::available_kernels()) {
      std::vector<uint32_t> table(kEntries, kUntouched);
      level->fill_impacts(weight, count, norms.data(), first_tf, max_tf, first, last, table.data());
      for (uint32_t tf = first_tf; tf <= max_tf; ++tf) {
        for (uint32_t code = first; code <= last; ++code) {
          CHECK_EQ(table[pack_payload(tf, code)], count * contribution(weight, tf, norms[code]));
        }
      }
      for (uint32_t i = 0; i < pack_payload(first_tf, first); ++i) CHECK_EQ(table[i], kUntouched);
      for (uint32_t i = pack_payload(max_tf, last) + 16u; i < kEntries; ++i) CHECK_EQ(table[i], kUntouched);
    }
  }
}

TEST(simd_accumulating_adds_every_posting_once_at_every_level) {
  std::mt19937 random(2);
  for (const size_t n : {0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 127, 128, 129, 1000}) {
    for (int round = 0; round < 10; ++round) {
      const uint32_t last = round % 2 ? 60 : kMaxLengthCode, count = 1 + random() % 3;
      const std::vector<float> norms = random_norms(random, last);
      const float weight = random_weight(random);
      std::vector<uint16_t> offsets(2000), payloads;
      std::iota(offsets.begin(), offsets.end(), uint16_t{0});
      std::shuffle(offsets.begin(), offsets.end(), random);
      offsets.resize(n);
      std::sort(offsets.begin(), offsets.end());
      for (size_t i = 0; i < n; ++i)
        payloads.push_back(pack_payload(1 + random() % kMaxTf, random() % (last + 1)));
      std::vector<uint32_t> before(2000);
      for (uint32_t& sum : before) sum = random() % 1000;
      std::vector<uint32_t> expected = before;
      for (size_t i = 0; i < n; ++i) {
        expected[offsets[i]] +=
            count * contribution(weight, payload_tf(payloads[i]), norms[payload_length_code(payloads[i])]);
      }
      for (const simd::Kernels* level : simd::available_kernels()) {
        std::vector<uint32_t> table(kEntries), sums = before;
        level->fill_impacts(weight, count, norms.data(), 1, kMaxTf, 0, last, table.data());
        level->accumulate(offsets.data(), payloads.data(), n, table.data(), sums.data());
        CHECK(sums == expected);
        sums = before;
        level->accumulate_directly(offsets.data(), payloads.data(), n, weight, count, norms.data(),
                                   sums.data());
        CHECK(sums == expected);
      }
    }
  }
}

TEST(simd_harvest_takes_what_exceeds_and_clears_all_at_every_level) {
  std::mt19937 random(3);
  for (const size_t n : {0, 16, 32, 48, 1024, 1040, 7216}) {
    for (const uint32_t threshold : {0u, 1u, 500u, 0x40000000u, 0x7ffffffeu, 0x7fffffffu}) {
      std::vector<uint32_t> sums(n);
      for (size_t i = 0; i < n; ++i) {  // many in one stretch, few in the next
        if (i / 1500 % 2 != 0 && random() % 300 != 0) continue;
        sums[i] = random() % 3 == 0 ? static_cast<uint32_t>(random() >> 1) : random() % 3 * 500;
      }
      if (n != 0) sums[n - 1] = 0x7fffffffu;
      std::vector<uint32_t> expected_positions, expected_scores;
      for (uint32_t i = 0; i < n; ++i) {
        if (sums[i] <= threshold) continue;
        expected_positions.push_back(i);
        expected_scores.push_back(sums[i]);
      }
      for (const simd::Kernels* level : simd::available_kernels()) {
        std::vector<uint32_t> given = sums, positions(n + 16), scores(n + 16);
        const size_t n_found = level->harvest(given.data(), n, threshold, positions.data(), scores.data());
        positions.resize(n_found);
        scores.resize(n_found);
        CHECK_EQ(positions, expected_positions);
        CHECK_EQ(scores, expected_scores);
        CHECK(std::count(given.begin(), given.end(), 0u) == static_cast<ptrdiff_t>(n));
      }
    }
  }
}

TEST(simd_group_maxima_are_those_of_disjoint_groups_at_every_level) {
  std::mt19937 random(4);
  for (const size_t n : {16, 32, 48, 160, 4096}) {
    for (const size_t group : {1, 2, 3, 7, 300}) {
      std::vector<uint32_t> sums(n);
      for (uint32_t& sum : sums) sum = static_cast<uint32_t>(random() % 1000);
      std::vector<uint32_t> sorted = sums, first;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      for (const simd::Kernels* level : simd::available_kernels()) {
        std::vector<uint32_t> maxima(n + 16);
        maxima.resize(level->group_maxima(sums.data(), n, group, maxima.data()));
        CHECK(maxima.size() <= n);
        if (first.empty()) first = maxima;
        CHECK(maxima == first);
        // Of disjoint groups that cover everything: the greatest of all is among them, and the k-th best of
        // them is reached by k values.
        std::sort(maxima.begin(), maxima.end(), std::greater<>());
        CHECK_EQ(maxima.front(), sorted.front());
        for (size_t k = 0; k < maxima.size(); ++k) CHECK(maxima[k] <= sorted[k]);
        if (group == 1) CHECK(maxima == sorted);
      }
    }
  }
}

TEST(simd_completing_looks_up_every_candidate_at_every_level) {
  std::mt19937 random(5);
  for (const size_t n_postings : {0, 1, 2, 3, 15, 16, 17, 100, 5000}) {
    for (const size_t n_candidates : {1, 2, 15, 16, 17, 31, 33, 200}) {
      const uint32_t n_docs = random() % 2 ? 6000 : 65536, count = 1 + random() % 3;
      const std::vector<float> norms = random_norms(random, kMaxLengthCode);
      const float weight = random_weight(random);
      const auto some_of = [&](size_t n) {
        std::vector<uint32_t> docs(n_docs);
        std::iota(docs.begin(), docs.end(), 0u);
        std::shuffle(docs.begin(), docs.end(), random);
        docs.resize(n);
        if (n > 1) docs[0] = n_docs - 1;
        std::sort(docs.begin(), docs.end());
        docs.erase(std::unique(docs.begin(), docs.end()), docs.end());
        return docs;
      };
      const std::vector<uint32_t> postings = some_of(n_postings), candidates = some_of(n_candidates);
      std::vector<uint16_t> offsets(postings.begin(), postings.end()), payloads;
      while (payloads.size() < offsets.size())
        payloads.push_back(pack_payload(1 + random() % kMaxTf, random() % (kMaxLengthCode + 1)));
      const auto n = static_cast<uint32_t>(offsets.size());
      offsets.resize(n + 2);  // readable beyond the end
      payloads.resize(n + 2);
      std::vector<uint32_t> scores;
      for (size_t i = 0; i < candidates.size(); ++i) scores.push_back(static_cast<uint32_t>(random() % 1000));
      const uint32_t rest = static_cast<uint32_t>(random() % 500);
      const uint32_t threshold = static_cast<uint32_t>(random() % 3 == 0 ? 0
                                                       : random() % 2    ? 700
                                                                         : weight + 200.0f);
      std::vector<uint32_t> expected_positions, expected_scores;
      for (size_t i = 0; i < candidates.size(); ++i) {
        uint32_t score = scores[i];
        const auto at = std::lower_bound(postings.begin(), postings.end(), candidates[i]);
        if (at != postings.end() && *at == candidates[i]) {
          const uint16_t payload = payloads[static_cast<size_t>(at - postings.begin())];
          score += count * contribution(weight, payload_tf(payload), norms[payload_length_code(payload)]);
        }
        if (score + rest <= threshold) continue;
        expected_positions.push_back(candidates[i]);
        expected_scores.push_back(score);
      }
      for (const simd::Kernels* level : simd::available_kernels()) {
        std::vector<uint32_t> positions = candidates, completed = scores;
        positions.resize(candidates.size() + 16);
        completed.resize(candidates.size() + 16);
        const size_t n_kept =
            level->complete(offsets.data(), payloads.data(), n, weight, count, norms.data(), rest, threshold,
                            positions.data(), completed.data(), candidates.size());
        positions.resize(n_kept);
        completed.resize(n_kept);
        CHECK_EQ(positions, expected_positions);
        CHECK_EQ(completed, expected_scores);

        // The same by a ranked bitmap, which ends with the last posting or later.
        std::vector<uint64_t> words(random() % 2 && n != 0 ? postings.back() / simd::kRankedDocs + 1
                                                           : n_docs / simd::kRankedDocs + 1);
        for (uint32_t i = 0; i < n; ++i) {
          uint64_t& word = words[postings[i] / simd::kRankedDocs];
          if (word == 0) word = uint64_t{i} << simd::kRankedDocs;
          word |= uint64_t{1} << (postings[i] % simd::kRankedDocs);
        }
        positions = candidates;
        completed = scores;
        positions.resize(candidates.size() + 16);
        completed.resize(candidates.size() + 16);
        const size_t n_ranked = level->complete_ranked(
            words.data(), static_cast<uint32_t>(words.size()), payloads.data(), weight, count, norms.data(),
            rest, threshold, positions.data(), completed.data(), candidates.size());
        positions.resize(n_ranked);
        completed.resize(n_ranked);
        CHECK_EQ(positions, expected_positions);
        CHECK_EQ(completed, expected_scores);
      }
    }
  }
}
