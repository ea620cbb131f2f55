// Graph image: a partition's graph as bytes, stored beside the images of its chunks.
//
// The graph's lists (vector/graph_links.hpp) follow a header with a version, a checksum and a generation: a
// number derived from the checksums of the chunk images that were written with it, so that a graph is never
// loaded over other documents than its own. Neither contains deleted documents. Little-endian.
//
// The reader trusts nothing. A graph that is damaged, of another version or generation, or that does not
// hold exactly the vectors that it covers is ignored without an error: the partition is scanned until a
// graph is built.
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

// The rows of a chunk that is still small may move, so it is left to the scan.
[[nodiscard]] inline bool can_be_covered(uint32_t n_docs, uint32_t chunk_docs) noexcept {
  return n_docs >=
         (chunk_docs < base::RowBlocks::kRowsPerBlock ? chunk_docs : base::RowBlocks::kRowsPerBlock);
}

// Generation for the images of chunks, in order.
[[nodiscard]] uint64_t generation_of(std::span<const std::string_view> images) noexcept;

[[nodiscard]] bool is_graph_image(std::string_view bytes) noexcept;

// The chunk data that a graph image needs, collected while the chunk images are written, so that the graph
// image can be made while writers continue.
class GraphKeeping {
 public:
  // `chunks`: those of the partition; chunks without live documents have no image.
  GraphKeeping(const PartitionGraph& graph, std::span<const ChunkRef> chunks, uint32_t chunk_docs);
  // Returns an empty string if none of the graph's documents is kept, or if it is too large for a store.
  [[nodiscard]] std::string write(std::span<const std::string> images) const;

 private:
  std::shared_ptr<const vector::Graph> graph_;
  ExpansionScales scales_;
  std::vector<std::vector<uint32_t>> renumbered_;  // new number by the graph's chunk and offset, or kGone
  std::vector<uint32_t> n_covered_;                // covered documents by image
};

// Returns the graph of an image over the chunks of `images`, or null. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<PartitionGraph> read_graph_image(std::string_view bytes,
                                                               std::span<const ChunkRef> chunks,
                                                               std::span<const std::string_view> images,
                                                               uint32_t chunk_docs);

}  // namespace scrubjay::engine
