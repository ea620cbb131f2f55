#include "engine/named_documents.hpp"

#include <unordered_set>

namespace scrubjay::engine {

NamedDocuments::NamedDocuments(const IdIndex& ids, const SearchScratch& scratch, const Scope& scope)
    : ids_(ids), scratch_(scratch) {
  for (uint32_t i = 0; i < scope.n_visible(); ++i) {
    for (size_t p = 0; p < scratch.partitions.size(); ++p) {
      if (scratch.partitions[p].partition->scope()->key() == scope.by_specificity(i).key)
        sources_.push_back({p, scratch.ids_follow(p)});
    }
  }
}

std::optional<uint32_t> NamedDocuments::find(const DocumentKey& key) const {
  for (const Source& source : sources_) {
    const Partition& partition = *scratch_.partitions[source.partition].partition;
    if (key.scope && !(*partition.scope() == *key.scope)) continue;
    if (source.from_snapshot) {
      const auto known = source.documents.find(key.id);
      if (known != source.documents.end()) return known->second;
      continue;
    }
    const std::optional<uint32_t> doc =
        scratch_.find_visible(source.partition, key.id, ids_.find(partition, key.id));
    if (doc) return doc;
  }
  return std::nullopt;
}

bool NamedDocuments::settled(Rankings rankings) {
  bool settled = true;
  for (Source& source : sources_) {
    if (source.from_snapshot || (source.followed && scratch_.unchanged(source.partition))) continue;
    source.documents = read_snapshot(source.partition, rankings);
    source.from_snapshot = true;
    settled = false;
  }
  return settled;
}

std::unordered_map<Id, uint32_t, IdHash> NamedDocuments::read_snapshot(size_t partition,
                                                                       Rankings rankings) const {
  std::unordered_set<Id, IdHash> wanted;
  for (const std::vector<DocumentKey>& keys : rankings) {
    for (const DocumentKey& key : keys) wanted.insert(key.id);
  }
  std::unordered_map<Id, uint32_t, IdHash> documents;
  for (size_t c = scratch_.partitions[partition].first_chunk; c < scratch_.end_of(partition); ++c) {
    const ChunkSnapshot& chunk = scratch_.chunks[c];
    for (uint32_t offset = 0; offset < chunk.n_docs; ++offset) {
      if (chunk.dead && chunk.dead->test(offset)) continue;
      const Id id = chunk.chunk->id(offset);
      if (wanted.contains(id)) documents.emplace(id, static_cast<uint32_t>(c) << 16 | offset);
    }
  }
  return documents;
}

}  // namespace scrubjay::engine
