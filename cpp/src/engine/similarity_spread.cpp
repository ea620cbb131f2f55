#include "engine/similarity_spread.hpp"

#include <bit>
#include <cmath>

namespace scrubjay::engine {
namespace {

[[nodiscard]] uint64_t blocks_of(uint64_t n_live, unsigned shift) noexcept {
  return (n_live + (uint64_t{1} << shift) - 1) >> shift;
}
[[nodiscard]] unsigned shift_for(uint64_t n_live, uint64_t most) noexcept {
  unsigned shift = 0;
  while (blocks_of(n_live, shift) > most) ++shift;
  return shift;
}

// The positions of the sampled documents among the live ones, ascending.
class SampledPlaces {
 public:
  SampledPlaces(uint64_t n_live, uint64_t most) : shift_(shift_for(n_live, most)) {}
  [[nodiscard]] uint64_t next() const noexcept {
    const uint64_t within = shift_ == 0 ? 0 : (block_ * 0x9e3779b97f4a7c15ull) >> (64 - shift_);
    return (block_ << shift_) + within;
  }
  void advance() noexcept { ++block_; }

 private:
  const unsigned shift_;
  uint64_t block_ = 0;
};

// The offset of live document number n of a chunk, searching from word `word`, before which there are
// `n_before` live ones.
uint32_t live_offset(const ChunkSnapshot& chunk, uint64_t n, uint32_t& word, uint64_t& n_before) noexcept {
  if (!chunk.dead) return static_cast<uint32_t>(n);
  for (;; ++word) {
    uint64_t live = ~chunk.dead->word(word);
    const auto n_here = static_cast<uint64_t>(std::popcount(live));
    if (n_before + n_here <= n) {
      n_before += n_here;
      continue;
    }
    for (uint64_t left = n - n_before; left != 0; --left) live &= live - 1;
    return 64 * word + static_cast<uint32_t>(std::countr_zero(live));
  }
}

}  // namespace

void sample_documents(std::span<const ChunkSnapshot> chunks, uint64_t most, std::vector<uint32_t>& out) {
  out.clear();
  uint64_t n_live = 0;
  for (const ChunkSnapshot& chunk : chunks) n_live += chunk.n_live;
  SampledPlaces places(n_live, most);
  uint64_t first = 0;  // position of the chunk's first live document
  for (uint32_t c = 0; c < chunks.size(); ++c) {
    const ChunkSnapshot& chunk = chunks[c];
    uint32_t word = 0;
    uint64_t n_before = 0;
    for (; places.next() < first + chunk.n_live; places.advance()) {
      const uint32_t offset = live_offset(chunk, places.next() - first, word, n_before);
      if (chunk.chunk->has_vector(offset)) out.push_back((c << 16) | offset);
    }
    first += chunk.n_live;
  }
}

uint64_t n_blocks(uint64_t n_live, uint64_t most) noexcept {
  return blocks_of(n_live, shift_for(n_live, most));
}

SimilaritySpread spread_of(std::span<const float> similarities) noexcept {
  SimilaritySpread spread;
  if (similarities.empty()) return spread;
  const auto n = static_cast<double>(similarities.size());
  double sum = 0.0, squares = 0.0;
  for (const float similarity : similarities) sum += static_cast<double>(similarity);
  spread.mean = sum / n;
  for (const float similarity : similarities) {
    const double beyond = static_cast<double>(similarity) - spread.mean;
    squares += beyond * beyond;
  }
  spread.deviation = std::sqrt(squares / n);
  return spread;
}

}  // namespace scrubjay::engine
