// Named documents: maps the keys in a caller's rankings to the documents of a snapshot.
//
// A key without a scope names the most specific document with its id, so a wrong "not here" from one
// partition would let another document take its place. The id index may be ahead of the snapshot or behind
// it. It is therefore asked first, and where it may have been wrong (SearchScratch::unchanged()), the
// snapshot itself is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/engine.hpp"
#include "engine/search_scratch.hpp"

namespace scrubjay::engine {

// For one search, after its filter is applied (hidden documents are not found), under the
// search's epoch guard.
class NamedDocuments {
 public:
  using Rankings = std::span<const std::vector<DocumentKey>>;

  NamedDocuments(const IdIndex& ids, const SearchScratch& scratch);

  // Returns `chunk << 16 | offset`.
  [[nodiscard]] std::optional<uint32_t> find(const DocumentKey& key) const;
  // Whether all answers of find() were right. If not, repeat all calls for `rankings` (nullopt: for all
  // documents asked for); this happens at most once for each partition.
  [[nodiscard]] bool settled(std::optional<Rankings> rankings);

 private:
  struct Source {
    size_t partition;  // its number in the snapshot
    bool followed;     // whether the id index was followed, before the first lookup
    bool from_snapshot = false;
    std::unordered_map<Id, uint32_t, IdHash> documents =
        {};  // of the snapshot, as far as they were asked for
  };

  [[nodiscard]] std::unordered_map<Id, uint32_t, IdHash> read_snapshot(
      size_t partition, std::optional<Rankings> rankings) const;

  const IdIndex& ids_;
  const SearchScratch& scratch_;
  std::vector<Source> sources_;  // the most specific partition first; equals in the order of the search
};

}  // namespace scrubjay::engine
