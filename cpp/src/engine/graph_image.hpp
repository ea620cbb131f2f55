// Graph image: a partition's graph as bytes, stored beside the images of its chunks.
//
// The graph's lists (vector/graph_links.hpp) behind a header with a version, a checksum, and a generation: a
// number made of the checksums of the chunk images that were written with it, so that a graph is never put
// over other documents than it was made for. What died is in neither. Little-endian.
//
// Reading trusts nothing. A graph that is damaged, of another version or generation, or that does not hold
// exactly the vectors that it covers is left aside without an error: the partition is scanned until a graph
// is built.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/partition.hpp"

namespace scrubjay::engine {

inline constexpr uint32_t kGraphImageVersion = 1;

// The rows of a chunk that is still small may move: it is left to the scan.
[[nodiscard]] inline bool can_be_covered(uint32_t n_docs, uint32_t chunk_docs) noexcept {
  return n_docs >=
         (chunk_docs < base::RowBlocks::kRowsPerBlock ? chunk_docs : base::RowBlocks::kRowsPerBlock);
}

// Of the images of chunks, in order.
[[nodiscard]] uint64_t generation_of(std::span<const std::string_view> images) noexcept;

[[nodiscard]] bool is_graph_image(std::string_view bytes) noexcept;

// What the image of a graph needs to know of the chunks, taken while they are written: then it can be made
// while writers go on.
class GraphKeeping {
 public:
  // `chunks` of the partition; those without live documents have no image.
  GraphKeeping(const PartitionGraph& graph, std::span<const ChunkRef> chunks, uint32_t chunk_docs);
  // Empty if nothing that the graph holds is kept, or it is too large for a store.
  [[nodiscard]] std::string write(std::span<const std::string> images) const;

 private:
  std::shared_ptr<const vector::Graph> graph_;
  ExpansionScales scales_;
  std::vector<std::vector<uint32_t>> renumbered_;  // by the graph's chunk and offset: the number, or kGone
  std::vector<uint32_t> n_covered_;                // by image
};

// The graph of an image over the chunks of `images`, or null. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<PartitionGraph> read_graph_image(std::string_view bytes,
                                                               std::span<const ChunkRef> chunks,
                                                               std::span<const std::string_view> images,
                                                               uint32_t chunk_docs);

}  // namespace scrubjay::engine
