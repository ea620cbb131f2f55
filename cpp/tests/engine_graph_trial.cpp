// A graph over vectors that are hard to find requires a greater ef, which is stored with the graph.
#include <memory>
#include <random>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine/graph_trial.hpp"
#include "vector/scan.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;
namespace vector = scrubjay::vector;

namespace {

constexpr uint32_t kDocs = 18'000, kDim = 64;

// Vectors around this many centres: one is the worst case, without any structure.
std::unique_ptr<vector::Column> around(uint32_t n_centres, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> centres(n_centres, std::vector<float>(kDim));
  for (std::vector<float>& centre : centres)
    for (float& x : centre) x = normal(random);
  auto column = std::make_unique<vector::Column>(
      vector::ColumnOptions{kDim, vector::Metric::cosine, vector::Storage::f16});
  std::vector<float> vector(kDim);
  for (uint32_t doc = 0; doc < kDocs; ++doc) {
    const std::vector<float>& centre = centres[random() % n_centres];
    for (uint32_t i = 0; i < kDim; ++i) vector[i] = centre[i] + 0.5f * normal(random);
    column->append(doc, vector);
  }
  return column;
}

}  // namespace

TEST(graph_trial_asks_for_more_where_vectors_are_hard_to_find) {
#if defined(__SANITIZE_THREAD__)
  SKIP("a trial is the work of one thread, and takes minutes here");
#endif
  std::mt19937 random(3);
  const auto never = [] { return false; };
  const std::vector<uint32_t> n_docs{kDocs};
  std::vector<base::Bitmap> dead;
  dead.emplace_back(kDocs);
  for (uint32_t doc = 0; doc < kDocs; doc += 17) dead[0].set(doc);
  const auto admits = [&](uint32_t doc) { return !dead[0].test(doc); };
  const auto easy = around(300, random), hard = around(1, random);
  uint64_t found[2];
  for (const bool is_hard : {false, true}) {
    const std::vector<const vector::Column*> columns{is_hard ? hard.get() : easy.get()};
    const auto graph = vector::Graph::build(columns, n_docs, {12, 64}, never, admits);  // a poor one
    const ExpansionScales scales = tried(*graph, columns, n_docs, dead, never);
    found[is_hard] = scales.packed();
    if (!is_hard) CHECK_EQ(tried(*graph, columns, n_docs, dead, never).packed(), found[is_hard]);
    CHECK_EQ(tried(*graph, columns, n_docs, dead, [] { return true; }).packed(), uint64_t{0});
    if (is_hard) CHECK(expansion_for(0.99, 10, scales) >= 1.5 * usual_expansion(0.99, 10));
  }
  CHECK_EQ(found[0], uint64_t{0});
  base::collect_retired();
}
