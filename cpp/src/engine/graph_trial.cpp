#include "engine/graph_trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/epoch.hpp"
#include "base/hash.hpp"
#include "base/topk.hpp"
#include "engine/planner.hpp"
#include "vector/code_scan.hpp"
#include "vector/scan.hpp"

namespace scrubjay::engine {
namespace {

constexpr size_t kLeastTried = 16384;  // vectors
// A thousand questions for a million vectors, fewer for fewer vectors.
constexpr size_t kLeastQuestions = 400, kMostQuestions = 1000, kVectorsAQuestion = 1000;
constexpr double kStep = 1.08, kFarStep = 1.25;
// The share of the allowed misses that the trial accepts, so that the recall also holds for other questions.
constexpr double kMisses = 0.8;
constexpr float kMoved = 0.5f;  // relative to its length

struct Question {
  vector::PreparedQuery query;
  std::vector<uint32_t> nearest;
  size_t n_missed = 0;
};

class Trial {
 public:
  Trial(const vector::Graph& graph, std::span<const vector::Column* const> columns,
        std::span<const uint32_t> n_docs, std::span<const base::Bitmap> dead)
      : graph_(graph), columns_(columns), n_docs_(n_docs), dead_(dead) {}

  // Takes one of the vectors at or after this position among all, moved in a direction of its own.
  [[nodiscard]] bool ask(uint64_t place, Question& out) {
    const base::EpochGuard guard;
    size_t c = 0;
    while (place >= n_docs_[c]) place -= n_docs_[c++];
    auto doc = static_cast<uint32_t>(place);
    while (doc < n_docs_[c] && !shown(static_cast<uint32_t>(c << 16) | doc)) ++doc;
    if (doc == n_docs_[c]) return false;
    const vector::ColumnOptions& options = columns_[c]->options();
    moved_.resize(options.dim);
    columns_[c]->read(doc, moved_);
    const double length = vector::norm(moved_);
    const auto step = static_cast<float>(length / std::sqrt(static_cast<double>(options.dim))) * kMoved;
    for (uint32_t i = 0; i < options.dim; ++i) moved_[i] += base::mix64(doc + 1, i + 1) & 1 ? step : -step;
    if (!(vector::norm(moved_) > 0.0)) return false;
    vector::prepare_query(options, moved_, out.query);
    if (graph_.coded() &&
        !vector::prepare_code_query(options, out.query.elements, out.query.square, out.query.code))
      return false;
    best_.reset(ExpansionScales::kWanted.back());
    const float margin =
        vector::margin_for((1.0 - ExpansionScales::kRecalls.back()) * planner::kScanMissShare);
    for (c = 0; c < columns_.size(); ++c) {
      if (n_docs_[c] == 0) continue;
      const vector::ChunkVectors vectors{n_docs_[c], dead_[c].n_words() == 0 ? nullptr : &dead_[c],
                                         columns_[c]};
      if (graph_.coded()) {
        vector::scan_codes(vectors, static_cast<uint32_t>(c), 0, out.query, margin, scan_, best_);
      } else {
        vector::scan_chunk(vectors, static_cast<uint32_t>(c), 0, out.query, best_);
      }
    }
    out.nearest.clear();
    for (const uint64_t key : best_.finish()) out.nearest.push_back(base::key_doc(key));
    return true;
  }

  // Number of the nearest documents that a search for `wanted` misses.
  [[nodiscard]] size_t n_missed(const Question& question, size_t wanted, size_t expansion) {
    const base::EpochGuard guard;
    found_.clear();
    (void)graph_.search(
        question.query, {wanted, expansion}, [&](uint32_t doc) { return shown(doc); }, walk_, found_);
    const auto nearest = std::span(question.nearest).first(std::min(wanted, question.nearest.size()));
    return static_cast<size_t>(std::count_if(nearest.begin(), nearest.end(), [&](uint32_t doc) {
      return std::none_of(found_.begin(), found_.end(),
                          [doc](const vector::GraphHit& hit) { return hit.doc == doc; });
    }));
  }

 private:
  [[nodiscard]] bool shown(uint32_t doc) const noexcept {
    return columns_[doc >> 16]->has(doc & 0xffffu) && !dead_[doc >> 16].test(doc & 0xffffu);
  }

  const vector::Graph& graph_;
  const std::span<const vector::Column* const> columns_;
  const std::span<const uint32_t> n_docs_;
  const std::span<const base::Bitmap> dead_;
  std::vector<float> moved_;
  std::vector<vector::GraphHit> found_;
  base::TopK best_;
  vector::CodeScanScratch scan_;
  vector::GraphScratch walk_;
};

}  // namespace

ExpansionScales tried(const vector::Graph& graph, std::span<const vector::Column* const> columns,
                      std::span<const uint32_t> n_docs, std::span<const base::Bitmap> dead,
                      const std::function<bool()>& cancelled) {
  if (graph.size() < kLeastTried) return {};
  Trial trial(graph, columns, n_docs, dead);
  uint64_t n_all = 0;
  for (const uint32_t n : n_docs) n_all += n;
  std::vector<Question> questions;
  const size_t n_asked = std::clamp(graph.size() / kVectorsAQuestion, kLeastQuestions, kMostQuestions);
  for (size_t q = 0; q < n_asked && !cancelled(); ++q) {
    if (!trial.ask((2 * q + 1) * n_all / (2 * n_asked), questions.emplace_back())) questions.pop_back();
  }
  if (questions.size() < n_asked / 2) return {};
  ExpansionScales scales;
  std::array<double, ExpansionScales::kRecalls.size()> found{};  // for smaller k: a greater k needs no less
  for (size_t w = 0; w < ExpansionScales::kWanted.size(); ++w) {
    const size_t wanted = ExpansionScales::kWanted[w];
    for (Question& question : questions) question.n_missed = wanted;
    double expansion = 0.0;
    for (size_t r = 0; r < ExpansionScales::kRecalls.size(); ++r) {
      const double recall = ExpansionScales::kRecalls[r], usual = usual_expansion(recall, wanted);
      expansion = std::max({expansion, usual, found[r]});
      while (expansion < ExpansionScales::kGreatest * usual) {
        size_t n_missed = 0, n_nearest = 0;
        for (Question& question : questions) {
          if (cancelled()) return {};
          if (question.n_missed != 0)  // a search with a greater ef misses none either
            question.n_missed = trial.n_missed(question, wanted, static_cast<size_t>(expansion));
          n_missed += question.n_missed;
          n_nearest += std::min(wanted, question.nearest.size());
        }
        const double over =
            static_cast<double>(n_missed) / (kMisses * (1.0 - recall) * static_cast<double>(n_nearest));
        if (over <= 1.0) break;
        expansion *= over > 2.0 ? kFarStep : kStep;
      }
      scales.set(r, w, expansion / usual);
      found[r] = expansion;
    }
  }
  return scales;
}

}  // namespace scrubjay::engine
