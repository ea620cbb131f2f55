// The filter of a search: from conditions to the documents of each visible chunk that may be found.

#include <algorithm>
#include <bit>

#include "base/epoch.hpp"
#include "engine/engine.hpp"
#include "engine/named_documents.hpp"
#include "engine/search_scratch.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::engine {
namespace {

// The cost of an id lookup, in documents scanned.
constexpr uint64_t kLookUpCost = 8;

[[nodiscard]] bool contains(const filter::IdSet& ids, const Id& id) {
  return id.kind == IdKind::integer ? ids.contains(id.integer) : ids.contains(id.string);
}

// Sets the bit of every document of the chunk whose id is in the set.
void add_members(const ChunkSnapshot& chunk, const filter::IdSet& ids, uint64_t* bits) {
  for (uint32_t offset = 0; offset < chunk.n_docs; ++offset) {
    bits[offset / 64] |= uint64_t{contains(ids, chunk.chunk->id(offset))} << (offset % 64);
  }
}

}  // namespace

std::span<const uint16_t> SearchScratch::admitted_in(size_t c) {
  Admitted& chunk = admitted[c];
  if (chunk.listed) return chunk.list;
  chunk.list.clear();
  const uint32_t n_docs = chunks[c].n_docs;
  for (uint32_t w = 0; w < chunk.hidden.n_words(); ++w) {
    uint64_t bits = ~chunk.hidden.word(w);
    if (w == n_docs / 64) bits &= (uint64_t{1} << (n_docs % 64)) - 1;
    for (; bits != 0; bits &= bits - 1)
      chunk.list.push_back(static_cast<uint16_t>(64 * w + static_cast<uint32_t>(std::countr_zero(bits))));
  }
  chunk.listed = true;
  return chunk.list;
}

std::optional<uint32_t> SearchScratch::find_visible(size_t p, const Id& id,
                                                    const std::optional<Location>& location) const noexcept {
  if (!location) return std::nullopt;
  const auto first = chunks.begin() + partitions[p].first_chunk;
  const auto end = chunks.begin() + static_cast<ptrdiff_t>(end_of(p));
  const auto chunk = std::lower_bound(
      first, end, serial_of(location->doc),
      [](const ChunkSnapshot& snapshot, uint64_t serial) { return snapshot.chunk->serial() < serial; });
  const uint32_t offset = offset_of(location->doc);
  if (chunk == end || offset >= chunk->n_docs || (chunk->dead && chunk->dead->test(offset)) ||
      !(chunk->chunk->id(offset) == id))
    return std::nullopt;
  return static_cast<uint32_t>(chunk - chunks.begin()) << 16 | offset;
}

void SearchScratch::count_entity_links(std::span<const filter::Predicate> entities) {
  entity_links.assign(entities.size(), 0);
  for (size_t e = 0; e < entities.size(); ++e) {
    for (const ChunkSnapshot& chunk : chunks) {
      naming.reset(chunk.n_docs);
      evaluation.run(entities[e], chunk.chunk->columns(), chunk.n_docs, naming.words());
      for (uint32_t w = 0; w < naming.n_words(); ++w) {
        const uint64_t dead = chunk.dead && w < chunk.dead->n_words() ? chunk.dead->word(w) : 0;
        entity_links[e] += static_cast<uint64_t>(std::popcount(naming.word(w) & ~dead));
      }
    }
  }
}

uint64_t SearchScratch::n_admitted() const noexcept {
  uint64_t n = 0;
  for (size_t c = 0; c < chunks.size(); ++c) n += filtered ? admitted[c].n : chunks[c].n_live;
  return n;
}

void Engine::check_kind(const DocumentNames& names, const char* argument) const {
  const std::string place = std::string(argument) + ": id";
  for (size_t i = 0; names.keys && i < names.keys->size(); ++i)
    check_kind((*names.keys)[i].id, place.c_str(), i);
  const filter::IdSet* ids = names.ids;
  const IdKind kind = id_kind();
  if (!ids || ids->size() == 0 || kind == IdKind::unset || ids->holds_integers() == (kind == IdKind::integer))
    return;
  throw base::WrongType(std::string(argument) + ": expected " + (kind == IdKind::integer ? "int" : "str") +
                        " like the ids of this index, got " + (ids->holds_integers() ? "int" : "str"));
}

// Fills scratch.admitted, and hides in each chunk of the snapshot the documents that the filter
// does not admit.
void Engine::apply_filter(const DocumentFilter& filter, SearchScratch& scratch) const {
  const size_t n_chunks = scratch.chunks.size();
  if (scratch.admitted.size() < n_chunks) scratch.admitted.resize(n_chunks);
  scratch.filtered = true;
  const auto words_of = [&](size_t c) { return scratch.admitted[c].hidden.words(); };
  // First the bits of the admitted documents, then their complement.
  for (size_t c = 0; c < n_chunks; ++c) {
    const ChunkSnapshot& chunk = scratch.chunks[c];
    scratch.admitted[c].hidden.reset(chunk.n_docs);
    if (filter.predicate) {
      scratch.evaluation.run(*filter.predicate, chunk.chunk->columns(), chunk.n_docs, words_of(c));
    } else {
      for (uint32_t w = 0; w < scratch.admitted[c].hidden.n_words(); ++w) words_of(c)[w] = ~uint64_t{0};
    }
  }
  for (const auto& [names, keep] : {std::pair{filter.only, true}, {filter.without, false}}) {
    if (!names.given()) continue;
    check_kind(names, keep ? "ids" : "exclude");
    std::vector<base::Bitmap>& members = scratch.members;
    if (members.size() < n_chunks) members.resize(n_chunks);
    for (size_t c = 0; c < n_chunks; ++c) members[c].reset(scratch.chunks[c].n_docs);
    if (names.ids) find_members(*names.ids, scratch);
    if (names.keys) find_members(*names.keys, scratch);
    for (size_t c = 0; c < n_chunks; ++c) {
      for (uint32_t w = 0; w < scratch.admitted[c].hidden.n_words(); ++w)
        words_of(c)[w] &= keep ? members[c].word(w) : ~members[c].word(w);
    }
  }
  for (size_t c = 0; c < n_chunks; ++c) {
    ChunkSnapshot& chunk = scratch.chunks[c];
    Admitted& admitted = scratch.admitted[c];
    const uint32_t n_words = admitted.hidden.n_words();
    admitted.listed = false;
    if (chunk.n_docs % 64 != 0) words_of(c)[n_words - 1] &= (uint64_t{1} << (chunk.n_docs % 64)) - 1;
    if (chunk.dead && chunk.dead->n_words() < n_words) {  // documents were added after the last deletion
      for (uint32_t w = 0; w < chunk.dead->n_words(); ++w) words_of(c)[w] &= ~chunk.dead->word(w);
      chunk.dead = nullptr;
    }
    admitted.n = static_cast<uint32_t>(
        simd::kernels().complement(words_of(c), chunk.dead ? chunk.dead->words() : nullptr, n_words));
    chunk.dead = &admitted.hidden;
  }
}

// Sets the documents of the set in scratch.members, which are clear, by partition: id by id if the set is
// small in relation to the partition, otherwise document by document.
void Engine::find_members(const filter::IdSet& ids, SearchScratch& scratch) const {
  std::vector<Id> listed;  // filled when a partition needs it
  for (size_t p = 0; p < scratch.partitions.size(); ++p) {
    const VisiblePartition& visible = scratch.partitions[p];
    const size_t end = scratch.end_of(p);
    const auto clear = [&] {
      for (size_t c = visible.first_chunk; c < end; ++c) scratch.members[c].reset(scratch.chunks[c].n_docs);
    };
    uint64_t n_docs = 0;
    for (size_t c = visible.first_chunk; c < end; ++c) n_docs += scratch.chunks[c].n_docs;
    if (ids.size() <= n_docs / kLookUpCost && scratch.ids_follow(p)) {
      if (listed.empty() && ids.size() != 0) {
        listed.reserve(ids.size());
        for (const int64_t id : ids.integers()) listed.push_back(Id::of(id));
        for (const std::string_view id : ids.strings()) listed.push_back(Id::of(id));
      }
      for (const Id& id : listed) {
        if (const auto doc = scratch.find_visible(p, id, ids_.find(*visible.partition, id)))
          scratch.members[*doc >> 16].set(*doc & 0xffffu);
      }
      if (scratch.unchanged(p)) continue;
      clear();
    }
    for (size_t c = visible.first_chunk; c < end; ++c)
      add_members(scratch.chunks[c], ids, scratch.members[c].words());
  }
}

// Sets the documents that have one of the keys.
void Engine::find_members(const std::vector<DocumentKey>& keys, SearchScratch& scratch) const {
  NamedDocuments named(ids_, scratch);
  std::vector<uint32_t> docs;
  do {
    docs.clear();
    for (const DocumentKey& key : keys) {
      if (const std::optional<uint32_t> doc = named.find(key)) docs.push_back(*doc);
    }
  } while (!named.settled(NamedDocuments::Rankings(&keys, 1)));
  for (const uint32_t doc : docs) scratch.members[doc >> 16].set(doc & 0xffffu);
}

size_t Engine::count(const Scope& scope, const DocumentFilter& filter) const {
  const base::EpochGuard guard;
  SearchScratch& scratch = SearchScratch::of_thread();
  const ScratchUse use(scratch);
  scratch.start();
  for (const Scope::Visible* visible = scope.visible_begin(); visible != scope.visible_end(); ++visible) {
    if (const Partition* partition = partitions_.find(visible->key, visible->hash))
      scratch.add(*partition, [](const Chunk&, const ChunkSnapshot&) {});
  }
  apply_filter(filter, scratch);
  return scratch.n_admitted();
}

}  // namespace scrubjay::engine
