#include "engine/graph_image.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/hash.hpp"
#include "engine/image.hpp"
#include "engine/image_bytes.hpp"

namespace scrubjay::engine {
namespace {

constexpr char kGraphMagic[8] = {'S', 'J', 'G', 'R', 'A', 'P', 'H', '\n'};
constexpr size_t kMostBytes = size_t{512} << 20;  // near the limit of a store's values

using vector::GraphLinks;

struct GraphHeader {
  char magic[8];
  uint32_t version;
  uint32_t n_chunks;
  uint64_t generation;
  uint32_t n_nodes;
  uint32_t entry;
  uint32_t connectivity;
  uint32_t n_lists;
  uint64_t n_links;
  uint64_t scales;    // ExpansionScales::packed()
  uint64_t checksum;  // of the header, with this field zero, and the rest
};
static_assert(sizeof(GraphHeader) == 64 && std::is_trivially_copyable_v<GraphHeader>);

[[nodiscard]] uint64_t checksum_of(GraphHeader header, std::string_view body) noexcept {
  header.checksum = 0;
  return checksum(body, checksum({reinterpret_cast<const char*>(&header), sizeof header}, 0));
}

[[nodiscard]] std::string write_links(const GraphLinks& links, uint64_t generation,
                                      const ExpansionScales& scales) {
  GraphHeader header{};
  std::memcpy(header.magic, kGraphMagic, sizeof kGraphMagic);
  header.version = kGraphImageVersion;
  header.n_chunks = static_cast<uint32_t>(links.n_covered.size());
  header.generation = generation;
  header.n_nodes = static_cast<uint32_t>(links.docs.size());
  header.entry = links.entry;
  header.connectivity = links.connectivity;
  header.n_lists = static_cast<uint32_t>(links.list_sizes.size());
  header.n_links = links.links.size();
  header.scales = scales.packed();
  std::string out;
  out.reserve(sizeof header + 4 * (links.n_covered.size() + links.docs.size() + links.links.size()) +
              links.levels.size() + links.list_sizes.size());
  put_value(out, header);  // overwritten below, when it is complete
  put_array(out, links.n_covered);
  put_array(out, links.docs);
  put_array(out, links.links);
  put_array(out, links.levels);
  put_array(out, links.list_sizes);
  header.checksum = checksum_of(header, std::string_view(out).substr(sizeof header));
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

// Reads the lists; they are validated when a graph is made from them.
[[nodiscard]] std::optional<GraphLinks> read_links(std::string_view bytes, uint64_t generation,
                                                   ExpansionScales& scales) {
  if (!is_graph_image(bytes) || bytes.size() < sizeof(GraphHeader)) return std::nullopt;
  ImageReader in(bytes);
  const auto header = in.value<GraphHeader>();
  const uint64_t n_bytes =
      4 * (uint64_t{header.n_chunks} + header.n_nodes) + uint64_t{header.n_nodes} + header.n_lists;
  if (header.version != kGraphImageVersion || header.generation != generation ||
      header.n_links > bytes.size() || n_bytes + 4 * header.n_links != in.left() ||
      header.checksum != checksum_of(header, bytes.substr(sizeof header)))
    return std::nullopt;
  GraphLinks links;
  links.connectivity = header.connectivity;
  scales = ExpansionScales::unpacked(header.scales);
  links.entry = header.entry;
  in.array(header.n_chunks, links.n_covered);
  in.array(header.n_nodes, links.docs);
  in.array(static_cast<uint32_t>(header.n_links), links.links);
  in.array(header.n_nodes, links.levels);
  in.array(header.n_lists, links.list_sizes);
  return links;
}

}  // namespace

bool is_graph_image(std::string_view bytes) noexcept {
  return bytes.substr(0, sizeof kGraphMagic) == std::string_view(kGraphMagic, sizeof kGraphMagic);
}

uint64_t generation_of(std::span<const std::string_view> images) noexcept {
  uint64_t generation = images.size();
  for (const std::string_view image : images) {
    const uint64_t sum = image_checksum(image);
    generation = base::mix64(generation ^ 0x9e3779b97f4a7c15ull, sum ^ 0xe7037ed1a0b428dbull) ^ sum;
  }
  return generation;
}

GraphKeeping::GraphKeeping(const PartitionGraph& graph, std::span<const ChunkRef> chunks, uint32_t chunk_docs)
    : graph_(graph.graph), scales_(graph.scales), renumbered_(graph.chunks.size()) {
  for (size_t c = 0; c < chunks.size(); ++c) {
    const Chunk& chunk = *chunks[c].get();
    if (chunk.n_live() == 0) continue;
    const uint32_t n_covered = c < graph.chunks.size() ? graph_->n_covered(c) : 0;
    const auto image = static_cast<uint32_t>(n_covered_.size());
    n_covered_.push_back(0);
    // A chunk with few live documents is not covered: its rows would move again.
    if (n_covered == 0 || !can_be_covered(chunk.n_live(), chunk_docs)) continue;
    renumbered_[c].assign(n_covered, GraphLinks::kGone);
    for (uint32_t offset = 0; offset < n_covered; ++offset) {
      if (!chunk.dead(offset)) renumbered_[c][offset] = image << 16 | n_covered_.back()++;
    }
  }
}

std::string GraphKeeping::write(std::span<const std::string> images) const {
  GraphLinks links = graph_->links([&](uint32_t doc) {
    const std::vector<uint32_t>& renumbered = renumbered_[doc >> 16];
    return renumbered.empty() ? GraphLinks::kGone : renumbered[doc & 0xffffu];
  });
  if (links.docs.empty() || links.links.size() > kMostBytes / 8) return {};
  links.n_covered = n_covered_;
  const std::vector<std::string_view> views(images.begin(), images.end());
  return write_links(links, generation_of(views), scales_);
}

std::unique_ptr<PartitionGraph> read_graph_image(std::string_view bytes, std::span<const ChunkRef> chunks,
                                                 std::span<const std::string_view> images,
                                                 uint32_t chunk_docs) {
  ExpansionScales scales;
  const std::optional<GraphLinks> links = read_links(bytes, generation_of(images), scales);
  if (!links || links->n_covered.size() != chunks.size()) return nullptr;
  std::vector<const vector::Column*> columns;
  for (size_t c = 0; c < chunks.size(); ++c) {
    const uint32_t n_docs = chunks[c]->n_docs();
    if (links->n_covered[c] > n_docs || (links->n_covered[c] != 0 && !can_be_covered(n_docs, chunk_docs)))
      return nullptr;
    columns.push_back(links->n_covered[c] != 0 ? chunks[c]->vectors() : nullptr);
  }
  auto read = std::make_unique<PartitionGraph>();
  read->chunks.assign(chunks.begin(), chunks.end());
  read->graph = vector::Graph::restore(columns, *links, {});
  read->scales = scales;
  if (!read->graph) return nullptr;
  (void)read->graph->use_huge_pages(columns);
  return read;
}

}  // namespace scrubjay::engine
