// Memory of a document beyond its text and vector, in partitions of ten, of which there may be a million, and
// in larger ones. The allocator's bytes are counted and compared with the engine's own statistics.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

const std::optional<std::string_view> kNone;

// Texts with the word lengths and repetitions of English notes: two fifths function words, the others drawn
// from twenty thousand by Zipf's law.
class Notes {
 public:
  Notes() {
    static constexpr std::array kSyllables = {"ber", "lin", "ta",  "ko",  "mi",  "ra",  "sen",  "tion",
                                              "pro", "con", "ver", "al",  "ing", "ed",  "pre",  "fer",
                                              "tra", "vel", "mee", "cof", "gar", "den", "ject", "o",
                                              "e",   "ly",  "un",  "der", "st",  "an"};
    double sum = 0;
    for (int i = 0; i < 20'000; ++i) {
      std::string& word = content_.emplace_back();
      const uint32_t draw = random_() % 20;
      const int n_syllables = draw < 3 ? 1 : draw < 11 ? 2 : draw < 18 ? 3 : 4;
      for (int k = 0; k < n_syllables; ++k) word += kSyllables[random_() % kSyllables.size()];
      ends_.push_back(sum += 1.0 / (i + 10));
    }
  }
  std::string operator()(uint32_t n_words) {
    static constexpr std::array kFunction = {
        "the",  "of",   "and",   "to",    "a",     "in",   "that",  "is",   "was", "for",  "it",
        "with", "as",   "on",    "be",    "at",    "by",   "i",     "this", "had", "not",  "are",
        "but",  "from", "or",    "have",  "an",    "they", "which", "one",  "you", "were", "her",
        "all",  "she",  "there", "would", "their", "we",   "him",   "been", "has"};
    std::string text;
    for (uint32_t i = 0; i < n_words; ++i) {
      if (i != 0) text += ' ';
      if (random_() % 5 < 2) {
        text += kFunction[std::min(random_() % kFunction.size(), random_() % kFunction.size())];
      } else {
        const double at = random_() / 4294967296.0 * ends_.back();
        text +=
            content_[static_cast<size_t>(std::lower_bound(ends_.begin(), ends_.end(), at) - ends_.begin())];
      }
    }
    return text;
  }
  uint32_t between(uint32_t least, uint32_t most) { return least + random_() % (most - least + 1); }

 private:
  std::mt19937 random_{7};
  std::vector<std::string> content_;
  std::vector<double> ends_;
};

struct Shape {
  uint32_t n_partitions, n_docs, least_words, most_words, dim;
};

// Bytes per partition.
struct Cost {
  double given = 0;       // by the allocator
  double told = 0;        // by the engine
  double beyond = 0;      // `given` without the bytes of texts and stored vectors
  double dictionary = 0;  // posting_bytes less six bytes per posting, per term
  double n_terms = 0, n_postings = 0;
};

Cost measured(const Shape& shape) {
  Notes notes;
  EngineOptions options;
  options.dim = shape.dim;
  Engine engine(options);
  std::vector<float> vector(shape.dim);
  uint64_t content_bytes = 0;
  const auto write = [&](const ScopeRef& scope, int64_t id, const std::string& text) {
    for (size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<float>(notes.between(1, 1000));
    const DocumentInput document{Id::of(id), text, {}, scope, vector};
    engine.upsert({&document, 1});
    content_bytes += text.size() + size_t{shape.dim} * 2;
  };
  // The writer's memory (such as the analyzer's cache) does not belong to the partitions.
  for (int64_t id = -40; id < 0; ++id) write(std::make_shared<Scope>("warm", kNone, kNone), id, notes(2'000));
  base::collect_retired();
  content_bytes = 0;
  const EngineStats stats = engine.stats(nullptr);
  const int64_t before = *test_allocations::live_bytes();
  for (uint32_t p = 0; p < shape.n_partitions; ++p) {
    const ScopeRef scope = std::make_shared<Scope>("acme", "user" + std::to_string(100'000 + p), kNone);
    for (uint32_t d = 0; d < shape.n_docs; ++d)
      write(scope, int64_t{p} * shape.n_docs + d, notes(notes.between(shape.least_words, shape.most_words)));
  }
  base::collect_retired();
  const EngineStats after = engine.stats(nullptr);
  const double n = shape.n_partitions;
  Cost cost;
  cost.given = static_cast<double>(*test_allocations::live_bytes() - before) / n;
  cost.told = static_cast<double>(after.memory_bytes - stats.memory_bytes) / n;
  cost.beyond = cost.given - static_cast<double>(content_bytes) / n;
  cost.n_terms = static_cast<double>(after.n_terms - stats.n_terms) / n;
  cost.n_postings = static_cast<double>(after.n_postings - stats.n_postings) / n;
  cost.dictionary =
      (static_cast<double>(after.posting_bytes - stats.posting_bytes) / n - 6 * cost.n_postings) /
      cost.n_terms;
  return cost;
}

// The minimum of six: one-time allocations of the process, and current work of upkeep, do not belong
// to the partitions. On a busy machine upkeep holds retired memory for longer than one measurement.
Cost cost_of(const Shape& shape) {
  Cost least = measured(shape);
  for (int i = 0; i < 5; ++i) {
    const Cost again = measured(shape);
    if (again.given < least.given) least = again;
  }
  return least;
}

// The engine's statistics equal the allocator's bytes within a twentieth.
void check_truth(const Cost& cost) {
  CHECK(cost.told > 0.95 * cost.given);
  CHECK(cost.told < 1.05 * cost.given);
}

}  // namespace

TEST(a_partition_of_ten_short_documents_costs_little) {
  if (!test_allocations::live_bytes()) SKIP("the allocator does not tell");
  for (const uint32_t dim : {16u, 256u}) {
    const Cost cost = cost_of({1'000, 10, 5, 8, dim});
    CHECK(cost.n_postings > 55);
    CHECK(cost.beyond < 2'450);
    CHECK(cost.dictionary < 10);
    check_truth(cost);
  }
}

TEST(a_partition_of_ten_sentences_costs_little) {
  if (!test_allocations::live_bytes()) SKIP("the allocator does not tell");
  const Cost cost = cost_of({500, 10, 20, 40, 16});
  CHECK(cost.n_postings > 200);
  CHECK(cost.beyond < 6'000);
  CHECK(cost.dictionary < 10);
  check_truth(cost);
}

TEST(postings_and_terms_of_larger_partitions_stay_within_their_bytes) {
  if (!test_allocations::live_bytes()) SKIP("the allocator does not tell");
  (void)cost_of({40, 100, 20, 40, 16});  // the process's memory for all engines grows once
  for (const auto& [n_partitions, n_docs] : {std::pair{40u, 100u}, {4u, 1'000u}, {1u, 10'000u}}) {
    const Cost cost = cost_of({n_partitions, n_docs, 20, 40, 16});
    CHECK(cost.dictionary < 45);
    if (n_docs <= 1'000) {
      check_truth(cost);
    } else {
      CHECK(cost.told < cost.given);  // unwritten pages of large memory are not resident
    }
  }
}
