#include "fusion/rrf.hpp"

#include <algorithm>
#include <bit>

namespace scrubjay::fusion {

std::span<const Fused> RankFusion::fuse(std::span<const Ranking> rankings, double rrf_k, size_t k) {
  size_t n_entries = 0;
  for (const Ranking& ranking : rankings) n_entries += ranking.docs.size();
  const size_t n_slots = std::bit_ceil(2 * n_entries + 1);
  const unsigned shift = 64 - static_cast<unsigned>(std::bit_width(n_slots) - 1);
  if (table_.size() < n_slots) table_.resize(n_slots);
  std::fill_n(table_.begin(), n_slots, 0u);
  fused_.clear();
  for (const Ranking& ranking : rankings) {
    for (size_t i = 0; i < ranking.docs.size(); ++i) {
      const uint32_t doc = ranking.docs[i];
      const double share = ranking.weight / (rrf_k + static_cast<double>(i + 1));
      size_t at = shift == 64 ? 0 : static_cast<size_t>((doc * 0x9e3779b97f4a7c15ull) >> shift);
      while (table_[at] != 0 && fused_[table_[at] - 1].doc != doc) at = (at + 1) & (n_slots - 1);
      if (table_[at] == 0) {
        fused_.push_back({share, doc});
        table_[at] = static_cast<uint32_t>(fused_.size());
      } else {
        fused_[table_[at] - 1].score += share;
      }
    }
  }
  const size_t n_best = std::min(k, fused_.size());
  std::partial_sort(
      fused_.begin(), fused_.begin() + static_cast<ptrdiff_t>(n_best), fused_.end(),
      [](const Fused& a, const Fused& b) { return a.score != b.score ? a.score > b.score : a.doc < b.doc; });
  return {fused_.data(), n_best};
}

}  // namespace scrubjay::fusion
