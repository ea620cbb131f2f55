// Link graph: what documents say of each other, as rankings of the visible documents.
//
// A document's links are the strings of one metadata field, a list or a single string. A link names the most
// specific visible document with that text as its id (in an index whose ids are integers: written in
// decimal). Links to nothing, and of a document to itself, do not count; nor do documents that a filter hides.
//
//   distance    documents at 1 to `hops` links from the centres, nearest first; of equal distance those with
//               more links to documents one step nearer, then in document order.
//   mentions    of some documents those that others link to, by how many do, then in document order.
//
// Cost: a look-up for each link of a document passed, and a pass over the field's column for each step against
// the direction of the links.
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
  // For one search, whose filter is applied. Under the search's epoch guard.
  LinkGraph(const IdIndex& ids, const SearchScratch& scratch, const LinkRequest& request);

  [[nodiscard]] std::vector<uint32_t> by_distance(size_t limit);
  [[nodiscard]] std::vector<uint32_t> by_mentions(std::span<const uint32_t> docs);

 private:
  using Counts = std::unordered_map<uint32_t, uint32_t>;  // of links, by document
  using Names = std::unordered_map<std::string, uint32_t, base::SeededHash, std::equal_to<>>;

  [[nodiscard]] std::vector<uint32_t> walk(size_t limit) const;
  [[nodiscard]] std::vector<uint32_t> step(std::span<const uint32_t> frontier,
                                           const std::unordered_set<uint32_t>& reached) const;
  [[nodiscard]] std::vector<uint32_t> mentioned(std::span<const uint32_t> docs) const;
  [[nodiscard]] std::optional<uint32_t> document_of(std::string_view link) const;
  // The text by which links name a document; none if another stands for it.
  [[nodiscard]] std::optional<std::string> name_of(uint32_t doc) const;
  [[nodiscard]] Names names_of(std::span<const uint32_t> docs) const;
  // visit(text) for each of a document's links, perhaps the same twice.
  template <class Visit>
  void visit_links(uint32_t doc, Visit&& visit) const;
  // visit(linking document, linked document) for each visible link to one of `names`, perhaps the same twice.
  template <class Visit>
  void visit_links_to(const Names& names, Visit&& visit) const;

  const SearchScratch& s_;
  NamedDocuments named_;
  const LinkRequest& request_;
  std::vector<const filter::Column*> columns_;  // the field's, of each chunk
};

}  // namespace scrubjay::engine
