// The contribution of a chunk's documents to its partition's digest.

#include <optional>
#include <vector>

#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "engine/image_parts.hpp"
#include "lexical/posting.hpp"

namespace scrubjay::engine {

void ChunkParts::digest(const Chunk& chunk, uint64_t first, Digest& digest) {
  std::vector<uint32_t> live, renumbered;
  number_live(chunk, live, renumbered);
  const auto mix = [](uint64_t a, uint64_t b) {
    return base::mix64(a ^ 0x9e3779b97f4a7c15ull, b ^ 0xe7037ed1a0b428dbull);
  };
  const vector::Column* column = chunk.vectors();
  const vector::Passages* passages = chunk.passages();
  uint64_t total_length = 0;
  for (const uint32_t offset : live) {
    if (offset % 256 == 0) base::interruption_point();
    const uint64_t doc = first + renumbered[offset];
    const std::optional<std::string_view> payload = chunk.payload(offset);
    uint64_t hash = mix(chunk.id(offset).stored_hash(), base::hash64(chunk.text(offset)));
    hash = mix(hash, payload ? base::hash64(*payload) : 1);
    digest.documents += mix(mix(hash, chunk.length_codes_.read()[offset]), doc);
    total_length += lexical::decode_length(chunk.length_codes_.read()[offset]);
    const auto hash_of = [&](const vector::Column& column, uint32_t row) {
      const vector::RowScale scale = column.scales()[row];
      const uint64_t bytes = base::hash64({column.rows().row(row), column.rows().row_bytes()});
      return mix(bytes, base::hash64({reinterpret_cast<const char*>(&scale), sizeof scale}));
    };
    if (column && column->has(offset)) {
      ++digest.n_vectors;
      digest.vectors += mix(hash_of(*column, offset), doc);
    } else if (const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr) {
      ++digest.n_vectors;
      uint64_t several = entry->n;
      for (uint32_t row = entry->first; row < entry->first + entry->n; ++row) {
        const vector::PassageSpan span = passages->span(row);
        several = mix(several, mix(hash_of(passages->rows(), row), uint64_t{span.start} << 32 | span.end));
      }
      digest.vectors += mix(several, doc);
    }
  }
  digest.n_docs += live.size();
  if (live.size() != chunk.n_live() || total_length != chunk.total_length_.load(std::memory_order_relaxed))
    ++digest.n_miscounted;
  digest.total_length += total_length;
  chunk.postings_.for_each([&](const lexical::PostingTable::List& list) {
    base::interruption_point();
    const uint64_t term = mix(list.key, base::hash64(list.long_term));
    uint32_t n_dead = 0;
    for (uint32_t i = 0; i < list.n; ++i) {
      if (list.offsets[i] >= renumbered.size()) continue;
      if (renumbered[list.offsets[i]] == kNoOffset) {
        ++n_dead;
        continue;
      }
      ++digest.n_postings;
      digest.postings += mix(mix(term, list.payloads[i]), first + renumbered[list.offsets[i]]);
    }
    if (list.n_dead != lexical::PostingTable::kNotCounted && list.n_dead != n_dead) ++digest.n_miscounted;
  });
}

}  // namespace scrubjay::engine
