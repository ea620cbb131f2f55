// Similarity spread: mean and deviation of the similarities between a query and the visible documents.
//
// Says how far a similarity stands out in its scope, whatever the embedder. Of a sample: the visible live
// documents in their order, filter or not, are cut into blocks of 2^s, s the least number for which there are at
// most `most`; of block b counts the document at place (b * 0x9e3779b97f4a7c15 mod 2^64) >> (64 - s), if the
// block reaches that far and the document has a vector. So small scopes are taken whole, the cost is bounded, and
// neither chunks nor deleted documents that wait for compaction change the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/chunk.hpp"
#include "engine/result.hpp"

namespace scrubjay::engine {

// For a search that asks for the spread, and for every search that fuses by it, which costs it 4,000
// instructions; by more documents the fusion is not better (benchmarks/quality/shares.py).
inline constexpr uint64_t kMostReported = 512, kMostFused = 16;

// Fills `out` with `chunk << 16 | offset`, ascending. Before a filter hides documents of the chunks. Cost: the
// sample, and the words of the bitmaps of deleted documents.
void sample_documents(std::span<const ChunkSnapshot> chunks, uint64_t most, std::vector<uint32_t>& out);

// How many documents a sample has, those without a vector included; one fewer if the last block ends early.
[[nodiscard]] uint64_t n_blocks(uint64_t n_live, uint64_t most) noexcept;

// Population mean and deviation, summed in order in double precision; NaN of nothing.
[[nodiscard]] SimilaritySpread spread_of(std::span<const float> similarities) noexcept;

}  // namespace scrubjay::engine
