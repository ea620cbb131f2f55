// Link graph: rankings of the visible documents by the links between documents.
//
// A document's links are the strings of one metadata field, a list or a single string. A link names the most
// specific visible document with that text as its id (for integer ids: in decimal). Dangling links and links
// of a document to itself do not count, nor do documents that a filter hides.
//
//   distance    documents at 1 to `hops` links from the centres, nearest first; of equal distance those with
//               more links to documents one step nearer, then in document order.
//   mentions    of given documents, those that others link to, by the number of linking documents, then in
//               document order.
//
// Cost: a lookup for each link of a visited document, and a pass over the field's column for each step
// against the direction of the links.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.hpp"
#include "engine/named_documents.hpp"

namespace scrubjay::engine {

class LinkGraph {
 public:
  // For one search, after its filter is applied, under the search's epoch guard.
  LinkGraph(const IdIndex& ids, const SearchScratch& scratch, const LinkRequest& request);

  [[nodiscard]] std::vector<uint32_t> by_distance(size_t limit);
  [[nodiscard]] std::vector<uint32_t> by_mentions(std::span<const uint32_t> docs);

 private:
  using Counts = std::unordered_map<uint32_t, uint32_t>;  // links by document
  using Names = std::unordered_map<std::string, uint32_t, base::SeededHash, std::equal_to<>>;

  [[nodiscard]] std::vector<uint32_t> walk(size_t limit) const;
  [[nodiscard]] std::vector<uint32_t> step(std::span<const uint32_t> frontier,
                                           const std::unordered_set<uint32_t>& reached) const;
  [[nodiscard]] std::vector<uint32_t> mentioned(std::span<const uint32_t> docs) const;
  [[nodiscard]] std::optional<uint32_t> document_of(std::string_view link) const;
  // The text by which links name a document; nullopt if that text names another document.
  [[nodiscard]] std::optional<std::string> name_of(uint32_t doc) const;
  [[nodiscard]] Names names_of(std::span<const uint32_t> docs) const;
  // Calls visit(text) for each of a document's links, possibly with repetitions.
  template <class Visit>
  void visit_links(uint32_t doc, Visit&& visit) const;
  // Calls visit(linking document, linked document) for each visible link to one of `names`,
  // possibly with repetitions.
  template <class Visit>
  void visit_links_to(const Names& names, Visit&& visit) const;

  const SearchScratch& s_;
  NamedDocuments named_;
  const LinkRequest& request_;
  std::vector<const filter::Column*> columns_;  // the field's column in each chunk
};

}  // namespace scrubjay::engine
