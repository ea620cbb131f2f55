// Similarity spread: mean and standard deviation of the similarities between a query and
// the visible documents.
//
// Tells how far a similarity stands out in its scope, for any embedder. Computed from a sample: the visible
// live documents in their order, ignoring filters, are cut into blocks of 2^s, where s is the least number
// that gives at most `most` blocks. The sample has from block b the document at position (b *
// 0x9e3779b97f4a7c15 mod 2^64) >> (64 - s), if the block reaches that far and the document has a vector.
// Small scopes are thus taken whole, the cost is bounded, and neither chunks nor deleted documents that wait
// for compaction change the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/chunk.hpp"
#include "engine/result.hpp"

namespace scrubjay::engine {

// Sample sizes: for a search that requests the spread, and for every search whose fusion uses it, which costs
// it 4,000 instructions; a larger sample does not improve the fusion (benchmarks/quality/shares.py).
inline constexpr uint64_t kMostReported = 512, kMostFused = 16;

// Fills `out` with `chunk << 16 | offset`, ascending. Call before a filter hides documents of the chunks.
// Cost: the sample, and the words of the bitmaps of deleted documents.
void sample_documents(std::span<const ChunkSnapshot> chunks, uint64_t most, std::vector<uint32_t>& out);

// Size of a sample, documents without a vector included; one fewer if the last block is too short.
[[nodiscard]] uint64_t n_blocks(uint64_t n_live, uint64_t most) noexcept;

// Population mean and standard deviation, summed in order in double precision; NaN for an empty span.
[[nodiscard]] SimilaritySpread spread_of(std::span<const float> similarities) noexcept;

}  // namespace scrubjay::engine
