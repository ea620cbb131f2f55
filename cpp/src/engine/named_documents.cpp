#include "engine/named_documents.hpp"

#include <algorithm>
#include <unordered_set>

namespace scrubjay::engine {

namespace {

// The order of Scope::by_specificity(): scopes with user and agent first, then user, agent, neither.
[[nodiscard]] int generality(const Scope& scope) noexcept {
  return (scope.user() ? 0 : 2) + (scope.agent() ? 0 : 1);
}

}  // namespace

NamedDocuments::NamedDocuments(const IdIndex& ids, const SearchScratch& scratch)
    : ids_(ids), scratch_(scratch) {
  for (size_t p = 0; p < scratch.partitions.size(); ++p) sources_.push_back({p, scratch.ids_follow(p)});
  const auto generality_of = [&](const Source& source) {
    return generality(*scratch.partitions[source.partition].partition->scope());
  };
  std::stable_sort(sources_.begin(), sources_.end(),
                   [&](const Source& a, const Source& b) { return generality_of(a) < generality_of(b); });
}

std::optional<uint32_t> NamedDocuments::find(const DocumentKey& key) const {
  for (const Source& source : sources_) {
    const Partition& partition = *scratch_.partitions[source.partition].partition;
    if (key.scope && (key.scope->hash() != partition.scope()->hash() || !(*partition.scope() == *key.scope)))
      continue;
    if (source.from_snapshot) {
      const auto document = source.documents.find(key.id);
      if (document != source.documents.end()) return document->second;
      continue;
    }
    const std::optional<uint32_t> doc =
        scratch_.find_visible(source.partition, key.id, ids_.find(partition, key.id));
    if (doc) return doc;
  }
  return std::nullopt;
}

bool NamedDocuments::settled(std::optional<Rankings> rankings) {
  bool settled = true;
  for (Source& source : sources_) {
    if (source.from_snapshot || (source.followed && scratch_.unchanged(source.partition))) continue;
    source.documents = read_snapshot(source.partition, rankings);
    source.from_snapshot = true;
    settled = false;
  }
  return settled;
}

std::unordered_map<Id, uint32_t, IdHash> NamedDocuments::read_snapshot(
    size_t partition, std::optional<Rankings> rankings) const {
  std::unordered_set<Id, IdHash> wanted;
  for (const std::vector<DocumentKey>& keys : rankings.value_or(Rankings())) {
    for (const DocumentKey& key : keys) wanted.insert(key.id);
  }
  std::unordered_map<Id, uint32_t, IdHash> documents;
  for (size_t c = scratch_.partitions[partition].first_chunk; c < scratch_.end_of(partition); ++c) {
    const ChunkSnapshot& chunk = scratch_.chunks[c];
    for (uint32_t offset = 0; offset < chunk.n_docs; ++offset) {
      if (chunk.dead && chunk.dead->test(offset)) continue;
      const Id id = chunk.chunk->id(offset);
      if (!rankings || wanted.contains(id)) documents.emplace(id, static_cast<uint32_t>(c) << 16 | offset);
    }
  }
  return documents;
}

}  // namespace scrubjay::engine
