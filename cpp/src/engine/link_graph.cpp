#include "engine/link_graph.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace scrubjay::engine {
namespace {

// The number whose canonical decimal form is this text: no plus sign, no leading zeros.
std::optional<int64_t> integer_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::to_string(value) != text)
    return std::nullopt;
  return value;
}

uint64_t pair_of(uint32_t from, uint32_t to) noexcept { return uint64_t{from} << 32 | to; }

using Pairs = std::unordered_set<uint64_t>;

// Calls visit(row) for the rows of one document.
template <class View, class Visit>
void visit_rows(const View& view, uint32_t offset, Visit&& visit) {
  const uint16_t* end = view.docs + view.rows.size();
  for (const uint16_t* doc = std::lower_bound(view.docs, end, offset); doc != end && *doc == offset; ++doc)
    visit(view.rows[static_cast<size_t>(doc - view.docs)]);
}

// By descending count, then in document order.
std::vector<uint32_t> by_count(const std::unordered_map<uint32_t, uint32_t>& counts) {
  std::vector<std::pair<uint32_t, uint32_t>> sorted;
  for (const auto& [doc, count] : counts) sorted.emplace_back(~count, doc);
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> docs;
  for (const auto& [count, doc] : sorted) docs.push_back(doc);
  return docs;
}

}  // namespace

LinkGraph::LinkGraph(const IdIndex& ids, const SearchScratch& scratch, const LinkRequest& request)
    : s_(scratch), named_(ids, scratch), request_(request) {
  const uint64_t hash = base::seeded_hash64(request.field);
  for (const ChunkSnapshot& chunk : scratch.chunks) {
    const filter::Columns* columns = chunk.chunk->columns();
    columns_.push_back(columns ? columns->find(request.field, hash) : nullptr);
  }
}

std::optional<uint32_t> LinkGraph::document_of(std::string_view link) const {
  if (link.empty()) return std::nullopt;
  if (const std::optional<uint32_t> doc = named_.find({nullptr, Id::of(link)})) return doc;
  const std::optional<int64_t> integer = integer_of(link);
  return integer ? named_.find({nullptr, Id::of(*integer)}) : std::nullopt;
}

std::optional<std::string> LinkGraph::name_of(uint32_t doc) const {
  const Id id = s_.chunks[doc >> 16].chunk->id(doc & 0xffffu);
  std::string name = id.kind == IdKind::integer ? std::to_string(id.integer) : std::string(id.string);
  return document_of(name) == doc ? std::optional(std::move(name)) : std::nullopt;
}

LinkGraph::Names LinkGraph::names_of(std::span<const uint32_t> docs) const {
  Names names;
  for (const uint32_t doc : docs) {
    if (std::optional<std::string> name = name_of(doc)) names.emplace(*std::move(name), doc);
  }
  return names;
}

template <class Visit>
void LinkGraph::visit_links(uint32_t doc, Visit&& visit) const {
  const filter::Column* column = columns_[doc >> 16];
  if (!column) return;
  const uint32_t n_docs = s_.chunks[doc >> 16].n_docs, offset = doc & 0xffffu;
  const auto text = [&](uint16_t code) { return column->strings.at(code - filter::kFirstString); };
  const uint16_t code = column->codes.view(n_docs).at(offset);
  if (code >= filter::kFirstString && code != filter::kSpilled) visit(text(code));
  visit_rows(column->elements.view(n_docs), offset, [&](uint16_t element) { visit(text(element)); });
  visit_rows(column->spilled.view(n_docs), offset,
             [&](const filter::SpilledString& row) { visit(row.text()); });
}

template <class Visit>
void LinkGraph::visit_links_to(const Names& names, Visit&& visit) const {
  constexpr uint32_t kOther = 0xffffffffu;
  std::vector<uint32_t> linked;  // by code
  for (uint32_t c = 0; c < s_.chunks.size(); ++c) {
    const filter::Column* column = columns_[c];
    if (!column) continue;
    const ChunkSnapshot& chunk = s_.chunks[c];
    linked.assign(column->strings.size(), kOther);
    bool any = false;
    for (const auto& [name, doc] : names) {
      const uint32_t number = column->strings.find(name);
      if (number >= linked.size()) continue;
      linked[number] = doc;
      any = true;
    }
    const auto spilled = column->spilled.view(chunk.n_docs);
    if (!any && spilled.rows.empty()) continue;
    const auto lives = [&](uint32_t offset) { return !(chunk.dead && chunk.dead->test(offset)); };
    const auto see = [&](uint32_t offset, uint16_t code) {
      if (code < filter::kFirstString || code == filter::kSpilled) return;
      const uint32_t number = code - filter::kFirstString;
      if (number < linked.size() && linked[number] != kOther && lives(offset))
        visit((c << 16) | offset, linked[number]);
    };
    const auto codes = column->codes.view(chunk.n_docs);
    for (uint32_t offset = 0; offset < chunk.n_docs; ++offset) see(offset, codes.at(offset));
    const auto elements = column->elements.view(chunk.n_docs);
    for (size_t i = 0; i < elements.rows.size(); ++i) see(elements.docs[i], elements.rows[i]);
    for (size_t i = 0; i < spilled.rows.size(); ++i) {
      const auto name = names.find(spilled.rows[i].text());
      if (name != names.end() && lives(spilled.docs[i])) visit((c << 16) | spilled.docs[i], name->second);
    }
  }
}

std::vector<uint32_t> LinkGraph::by_distance(size_t limit) {
  std::vector<uint32_t> docs;
  do {
    docs = walk(limit);
  } while (!named_.settled(std::nullopt));
  return docs;
}

std::vector<uint32_t> LinkGraph::by_mentions(std::span<const uint32_t> docs) {
  std::vector<uint32_t> ranked;
  do {
    ranked = mentioned(docs);
  } while (!named_.settled(std::nullopt));
  return ranked;
}

std::vector<uint32_t> LinkGraph::walk(size_t limit) const {
  std::vector<uint32_t> frontier;
  std::unordered_set<uint32_t> reached;
  for (const DocumentKey& key : request_.centres) {
    const std::optional<uint32_t> doc = named_.find(key);
    if (doc && reached.insert(*doc).second) frontier.push_back(*doc);
  }
  std::vector<uint32_t> ranked;
  for (uint32_t hop = 0; hop < request_.hops && !frontier.empty() && ranked.size() < limit; ++hop) {
    frontier = step(frontier, reached);
    reached.insert(frontier.begin(), frontier.end());
    ranked.insert(ranked.end(), frontier.begin(), frontier.end());
  }
  ranked.resize(std::min(ranked.size(), limit));
  return ranked;
}

// Returns the documents one link away that were not reached before, best first.
std::vector<uint32_t> LinkGraph::step(std::span<const uint32_t> frontier,
                                      const std::unordered_set<uint32_t>& reached) const {
  Counts counts;
  Pairs pairs;  // a link and its reverse count once
  const auto reach = [&](uint32_t near, uint32_t doc) {
    if (!reached.contains(doc) && pairs.insert(pair_of(near, doc)).second) ++counts[doc];
  };
  if (request_.direction != LinkDirection::in) {
    for (const uint32_t near : frontier) {
      visit_links(near, [&](std::string_view link) {
        if (const std::optional<uint32_t> doc = document_of(link)) reach(near, *doc);
      });
    }
  }
  if (request_.direction != LinkDirection::out)
    visit_links_to(names_of(frontier), [&](uint32_t doc, uint32_t near) { reach(near, doc); });
  return by_count(counts);
}

std::vector<uint32_t> LinkGraph::mentioned(std::span<const uint32_t> docs) const {
  Counts counts;
  Pairs pairs;
  visit_links_to(names_of(docs), [&](uint32_t from, uint32_t to) {
    if (from != to && pairs.insert(pair_of(from, to)).second) ++counts[to];
  });
  return by_count(counts);
}

}  // namespace scrubjay::engine
