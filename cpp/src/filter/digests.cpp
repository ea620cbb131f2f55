#include "filter/digests.hpp"

#include <algorithm>
#include <bit>

#include "simd/kernels.hpp"

namespace scrubjay::filter {
namespace {

constexpr uint32_t kWords = Digests::kBlock / 64;
constexpr uint16_t kGreatestDigest = 0xfffe, kNoDigest = 0xffff;  // for an absent value

[[nodiscard]] uint64_t distance(int64_t least, int64_t value) noexcept {
  return static_cast<uint64_t>(value) - static_cast<uint64_t>(least);
}

}  // namespace

void Digests::reserve(uint32_t n) {
  const uint32_t n_blocks = n / kBlock, n_used = n_blocks_.load(std::memory_order_relaxed);
  if (n_blocks <= n_used) return;
  blocks_.reserve(n_blocks, n_used);
  digests_.reserve(n_blocks * kBlock, n_used * kBlock);
}

void Digests::follow(const int64_t* values, uint32_t n) noexcept {
  for (uint32_t b = n_blocks_.load(std::memory_order_relaxed); b < n / kBlock; ++b) {
    blocks_.data()[b] = digest(values + b * kBlock, digests_.data() + b * kBlock);
    n_blocks_.store(b + 1, std::memory_order_release);
  }
}

Digests::Block Digests::digest(const int64_t* values, uint16_t* digests) noexcept {
  Block block{std::numeric_limits<int64_t>::max(), kAbsent, 0, true};
  for (uint32_t i = 0; i < kBlock; ++i) {
    block.full &= values[i] != kAbsent;
    if (values[i] == kAbsent) continue;
    block.least = std::min(block.least, values[i]);
    block.greatest = std::max(block.greatest, values[i]);
  }
  if (block.least <= block.greatest) {
    while (distance(block.least, block.greatest) >> block.shift > kGreatestDigest) ++block.shift;
  }
  for (uint32_t i = 0; i < kBlock; ++i) {
    digests[i] = values[i] == kAbsent
                     ? kNoDigest
                     : static_cast<uint16_t>(distance(block.least, values[i]) >> block.shift);
  }
  return block;
}

uint32_t Digests::match(const int64_t* values, uint32_t n, int64_t least, int64_t greatest,
                        uint64_t* bits) const {
  const uint32_t n_blocks = std::min(n_blocks_.load(std::memory_order_acquire), n / kBlock);
  if (least > greatest) return n_blocks * kBlock;
  const Block* blocks = blocks_.read();
  const uint16_t* digests = digests_.read();
  for (uint32_t b = 0; b < n_blocks; ++b) {
    if (greatest < blocks[b].least || least > blocks[b].greatest) continue;
    match_block(blocks[b], values + b * kBlock, digests + b * kBlock, least, greatest, bits + b * kWords);
  }
  return n_blocks * kBlock;
}

uint32_t Digests::match_set(const int64_t* values, uint32_t n, const ValueSet& set, uint32_t* digest_set,
                            uint64_t* bits) const {
  const uint32_t n_blocks = std::min(n_blocks_.load(std::memory_order_acquire), n / kBlock);
  const Block* blocks = blocks_.read();
  const uint16_t* digests = digests_.read();
  const simd::Kernels& kernels = simd::kernels();
  for (uint32_t b = 0; b < n_blocks; ++b) {
    const Block& block = blocks[b];
    if (block.least > block.greatest) continue;
    const uint64_t span = distance(block.least, block.greatest);
    bool any = false;
    for (const int64_t value : set.values()) {
      const uint64_t above = distance(block.least, value);
      if (above > span) continue;
      digest_set[(above >> block.shift) / 32] |= 1u << ((above >> block.shift) % 32);
      any = true;
    }
    if (!any) continue;
    uint64_t found[kWords] = {};
    kernels.match_code_set(digests + b * kBlock, kBlock, digest_set, found);
    std::fill_n(digest_set, (span >> block.shift) / 32 + 1, 0u);
    for (uint32_t w = 0; w < kWords; ++w) {
      if (block.shift != 0) {  // a digest stands for several values
        for (uint64_t unsure = found[w]; unsure != 0; unsure &= unsure - 1) {
          const auto i = static_cast<uint32_t>(std::countr_zero(unsure));
          if (!set.holds(values[b * kBlock + 64 * w + i])) found[w] ^= uint64_t{1} << i;
        }
      }
      bits[b * kWords + w] |= found[w];
    }
  }
  return n_blocks * kBlock;
}

void Digests::match_block(const Block& block, const int64_t* values, const uint16_t* digests, int64_t least,
                          int64_t greatest, uint64_t* bits) {
  const bool from_start = least <= block.least, to_end = greatest >= block.greatest;
  if (from_start && to_end && block.full) {
    std::fill_n(bits, kWords, ~uint64_t{0});
    return;
  }
  // The digests at the ends of the range, and whether all values with these digests are in it.
  const uint64_t below = (uint64_t{1} << block.shift) - 1;
  const uint64_t start = from_start ? 0 : distance(block.least, least);
  const uint64_t end = distance(block.least, to_end ? block.greatest : greatest);
  const auto first = static_cast<uint16_t>(start >> block.shift);
  const auto last = static_cast<uint16_t>(end >> block.shift);
  const simd::Kernels& kernels = simd::kernels();
  if ((start & below) == 0 && (to_end || (end & below) == below)) {
    kernels.match_codes(digests, kBlock, first, static_cast<uint16_t>(last - first), bits);
    return;
  }
  uint64_t ends[kWords];
  kernels.match_between(digests, kBlock, first, last, bits, ends);
  for (uint32_t w = 0; w < kWords; ++w) {
    for (uint64_t unsure = ends[w]; unsure != 0; unsure &= unsure - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(unsure));
      const int64_t value = values[64 * w + i];
      if (value >= least && value <= greatest) bits[w] |= uint64_t{1} << i;
    }
  }
}

}  // namespace scrubjay::filter
