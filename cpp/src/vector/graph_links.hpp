// Graph links: the edges of a graph without memory addresses, for storage.
#pragma once

#include <cstdint>
#include <vector>

namespace scrubjay::vector {

// The longest list of a node on a level, for M of the paper.
[[nodiscard]] constexpr uint32_t most_links(uint32_t connectivity, uint32_t level) noexcept {
  return level == 0 ? 2 * connectivity : connectivity;
}

struct GraphLinks {
  static constexpr uint32_t kGone = 0xffffffffu;  // a document that is not stored

  uint32_t connectivity = 0;        // M of the paper; twice as many on the ground level
  uint32_t entry = 0;               // the slot where searches begin, on the highest level
  std::vector<uint32_t> n_covered;  // by column
  std::vector<uint32_t> docs;       // by slot: column << 16 | document
  std::vector<uint8_t> levels;      // by slot: its highest level
  std::vector<uint8_t> list_sizes;  // by slot, then by level from the ground up
  std::vector<uint32_t> links;      // slots, list by list
};

}  // namespace scrubjay::vector
