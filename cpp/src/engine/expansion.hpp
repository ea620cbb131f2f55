// Expansion: the ef of a graph search that reaches a given recall among the best k.
//
// The default is fitted to real embeddings: the share of misses falls with the power 1.28 of ef. The
// difficulty of a search depends on the distribution of the vectors, so a graph that is large enough is
// calibrated (graph_trial.hpp), and the ef that it needs is stored as a multiple of the default.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace scrubjay::engine {

[[nodiscard]] inline double misses_of(double recall) noexcept { return std::max(1.0 - recall, 1e-4); }

[[nodiscard]] inline double usual_expansion(double recall, size_t k) noexcept {
  return (53.0 + 1.2 * static_cast<double>(k)) * std::pow(0.05 / misses_of(recall), 0.78);
}

// The ef that a graph needs, as a multiple of the default, by recall and k.
class ExpansionScales {
 public:
  static constexpr std::array<double, 3> kRecalls{0.9, 0.95, 0.99};
  static constexpr std::array<size_t, 2> kWanted{10, 50};
  static constexpr double kGreatest = 32.0;

  // For kRecalls[r] and kWanted[w]: at least 1; rounded up by at most 2%.
  void set(size_t r, size_t w, double scale) noexcept {
    const double steps = std::ceil(std::log2(scale) * kStepsAnOctave - 1e-6);
    steps_[r * kWanted.size() + w] = static_cast<uint8_t>(std::clamp(steps, 0.0, kMost));
  }

  // Interpolates between the calibrated points, by the logarithm of the misses and linearly in k. Outside of
  // them the multiple of the nearest point applies.
  [[nodiscard]] double expansion(double recall, size_t k) const noexcept {
    constexpr size_t kFew = kWanted.front(), kMany = kWanted.back();
    if (k <= kFew || k >= kMany) return scale(recall, k < kMany ? 0 : 1) * usual_expansion(recall, k);
    const double way = static_cast<double>(k - kFew) / static_cast<double>(kMany - kFew);
    return std::lerp(scale(recall, 0) * usual_expansion(recall, kFew),
                     scale(recall, 1) * usual_expansion(recall, kMany), way);
  }

  // Stored form: 0 is the default; below 2^16 one scale for all points in 1,024ths (an earlier format).
  [[nodiscard]] uint64_t packed() const noexcept {
    uint64_t number = 0;
    for (size_t i = 0; i < steps_.size(); ++i) number |= uint64_t{steps_[i]} << (8 * i);
    return number == 0 ? 0 : number | kMark;
  }
  [[nodiscard]] static ExpansionScales unpacked(uint64_t number) noexcept {
    ExpansionScales scales;
    for (size_t i = 0; number != 0 && i < scales.steps_.size(); ++i) {
      if (number < 0x10000) {
        scales.set(i / kWanted.size(), i % kWanted.size(), static_cast<double>(number) / 1024.0);
      } else {
        const auto steps = static_cast<double>((number >> (8 * i)) & 0xff);
        scales.steps_[i] = static_cast<uint8_t>(std::min(steps, kMost));
      }
    }
    return scales;
  }

 private:
  static constexpr double kStepsAnOctave = 32.0, kMost = 5 * kStepsAnOctave;  // kGreatest is 2^5
  static constexpr uint64_t kMark = uint64_t{1} << 56;

  [[nodiscard]] double scale(double recall, size_t w) const noexcept {
    size_t r = 1;
    while (r + 1 < kRecalls.size() && recall > kRecalls[r]) ++r;
    const double few = std::log(misses_of(kRecalls[r])), many = std::log(misses_of(kRecalls[r - 1]));
    const double way = std::clamp((many - std::log(misses_of(recall))) / (many - few), 0.0, 1.0);
    return std::exp2(std::lerp(octaves_at(r - 1, w), octaves_at(r, w), way));
  }
  [[nodiscard]] double octaves_at(size_t r, size_t w) const noexcept {
    return steps_[r * kWanted.size() + w] / kStepsAnOctave;
  }

  std::array<uint8_t, kRecalls.size() * kWanted.size()> steps_{};
};

[[nodiscard]] inline size_t expansion_for(double recall, size_t k, const ExpansionScales& scales) noexcept {
  return std::max(k, static_cast<size_t>(scales.expansion(recall, k))) + 1;
}

// The same when only a share of the documents is visible: the best k of them are as near as the best k /
// share of all.
[[nodiscard]] inline size_t expansion_among(double recall, size_t k, double visible_share,
                                            const ExpansionScales& scales) noexcept {
  return expansion_for(recall, static_cast<size_t>(std::ceil(static_cast<double>(k) / visible_share)),
                       scales);
}

// Whether a search with ef = `expansion` that found its last result at this rank has searched far enough. It
// has not if fewer documents are visible near the query than on average.
[[nodiscard]] inline bool far_enough(double recall, size_t rank, size_t expansion,
                                     const ExpansionScales& scales) noexcept {
  constexpr double kFewerInView = 0.7;
  return rank <= expansion && static_cast<double>(expansion) >=
                                  kFewerInView * static_cast<double>(expansion_for(recall, rank, scales));
}

}  // namespace scrubjay::engine
