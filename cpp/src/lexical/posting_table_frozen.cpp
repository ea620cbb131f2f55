// A posting table in the layout of its image (frozen_postings.hpp), and its conversion to one that can be
// written to.

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/epoch.hpp"
#include "base/interruption.hpp"
#include "lexical/posting_slots.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

void PostingTable::freeze(FrozenPostings::Source source) {
  if (source.n_terms == 0) return;
  const base::Place place = place_long_terms(source.long_terms.size());
  if (place.n_bytes != 0) std::memcpy(place.memory, source.long_terms.data(), place.n_bytes);
  source.long_terms = {place.memory, place.n_bytes};
  install(FrozenPostings::make(source), place.n_bytes);
}

base::Place PostingTable::place_long_terms(size_t n_bytes) {
  long_terms_.reserve(n_bytes, 0);
  return {long_terms_.data(), n_bytes};
}

void PostingTable::install(FrozenPostings::Owner frozen, size_t n_long_term_bytes) noexcept {
  long_terms_bytes_.store(static_cast<uint32_t>(n_long_term_bytes), std::memory_order_release);
  n_terms_ = frozen->n_terms();
  n_postings_ = frozen->n_postings();
  form_.store(reinterpret_cast<uintptr_t>(frozen.release()) | kFrozenBit, std::memory_order_release);
}

// The key in memory, and the bytes of a long term.
uint64_t PostingTable::frozen_key(const FrozenPostings& frozen, uint32_t term,
                                  std::string_view& bytes) const noexcept {
  const uint64_t key = frozen.key(term);
  bytes = {};
  if (text::is_packed(key)) return key;
  bytes = long_term(frozen.term_at(term));
  return text::term_key(bytes);
}

void PostingTable::read_frozen(const FrozenPostings& frozen, uint32_t term, uint32_t n_docs,
                               const base::Bitmap* dead, TermPostings& out) noexcept {
  const FrozenPostings::List list = frozen.list(term);
  out.n = list.n;
  if (list.n <= FrozenPostings::kMostBare) {
    std::copy_n(list.offsets, list.n, out.inline_offsets_);
    std::copy_n(list.payloads, list.n, out.inline_payloads_);
    while (out.n != 0 && out.inline_offsets_[out.n - 1] >= n_docs) --out.n;
    sum_up(dead, out);
    return;
  }
  out.max_tf = payload_tf(list.bounds.greatest);
  out.max_length_code = payload_length_code(list.bounds.greatest);
  out.shortest = Shortest(list.bounds.shortest);
  out.offsets_ = list.offsets;
  out.payloads_ = list.payloads;
  out.ranked_ = frozen.ranked(list.bounds);
  cut(out, n_docs);
}

void PostingTable::find_frozen(const FrozenPostings& frozen, std::span<const TermCount> terms,
                               uint32_t n_docs, const base::Bitmap* dead, TermPostings* out) const {
  constexpr size_t kAtOnce = 16;
  const char* const long_terms = long_terms_.read();
  uint64_t keys[kAtOnce];
  uint32_t at[kAtOnce];
  for (size_t begin = 0; begin < terms.size(); begin += kAtOnce) {
    const size_t n = std::min(kAtOnce, terms.size() - begin);
    for (size_t i = 0; i < n; ++i) {
      const TermCount& term = terms[begin + i];
      keys[i] = text::is_packed(term.key) ? term.key : text::stored_term_key(term.term);
      frozen.prefetch_directory(keys[i]);
    }
    for (size_t i = 0; i < n; ++i) frozen.prefetch_term(keys[i]);
    for (size_t i = 0; i < n; ++i) {
      TermPostings& postings = out[begin + i];
      postings.n = postings.n_dead = 0;
      postings.offsets_ = postings.payloads_ = nullptr;
      postings.ranked_ = nullptr;
      at[i] = frozen.find(keys[i], terms[begin + i].term, long_terms);
      if (at[i] != frozen.n_terms()) frozen.prefetch_list(at[i]);
    }
    for (size_t i = 0; i < n; ++i)
      if (at[i] != frozen.n_terms()) read_frozen(frozen, at[i], n_docs, dead, out[begin + i]);
  }
}

void PostingTable::append_all_frozen(const PostingTable& from, const FrozenPostings& frozen, uint32_t first,
                                     std::span<const uint32_t> renumbered) {
  TermPostings postings;
  for (uint32_t term = 0; term < frozen.n_terms(); ++term) {
    base::interruption_point();
    std::string_view bytes;
    const uint64_t key = from.frozen_key(frozen, term, bytes);
    postings.n_dead = 0;
    postings.offsets_ = postings.payloads_ = nullptr;
    read_frozen(frozen, term, static_cast<uint32_t>(renumbered.size()), nullptr, postings);
    append_list(key, bytes, postings, first, renumbered);
  }
}

void PostingTable::for_each_frozen(const FrozenPostings& frozen,
                                   const std::function<void(const List&)>& visit) const {
  for (uint32_t term = 0; term < frozen.n_terms(); ++term) {
    const FrozenPostings::List from = frozen.list(term);
    List list;
    list.key = frozen.key(term);
    if (!text::is_packed(list.key)) list.long_term = long_term(frozen.term_at(term));
    list.offsets = from.offsets;
    list.payloads = from.payloads;
    list.n = from.n;
    list.n_dead = from.n <= kMaxInline ? kNotCounted : 0;
    visit(list);
  }
}

// Builds the slots beside the postings that readers use, and replaces them. The ranked bitmaps are moved.
void PostingTable::thaw() {
  FrozenPostings* frozen = this->frozen();
  if (!frozen) return;
  auto table = std::make_unique<Table>(Table::slots_for(frozen->n_terms()), base::Probing::fresh());
  size_t block_bytes = 0;
  try {
    for (uint32_t term = 0; term < frozen->n_terms(); ++term) {
      std::string_view bytes;
      const uint64_t key = frozen_key(*frozen, term, bytes);
      Slot* slot = table->insert(key, bytes.empty() ? 0 : frozen->term_at(term));
      while (!slot) {
        auto rebuilt = std::make_unique<Table>(table->n_slots, table->probing.harder());
        if (rebuilt->copy(*table)) {
          table = std::move(rebuilt);
          slot = table->insert(key, bytes.empty() ? 0 : frozen->term_at(term));
        }
      }
      const FrozenPostings::List list = frozen->list(term);
      if (list.n <= kMaxInline) {
        for (uint32_t i = 0; i < list.n; ++i)
          slot->set_inline_posting(i, pack(list.offsets[i], list.payloads[i]));
        slot->count.store(list.n, std::memory_order_relaxed);
        continue;
      }
      Block* block = Block::make((list.n + 3) & ~3u);
      std::copy_n(list.offsets, list.n, block->offsets());
      std::copy_n(list.payloads, list.n, block->payloads());
      block->max_tf.store(static_cast<uint16_t>(payload_tf(list.bounds.greatest)), std::memory_order_relaxed);
      block->max_length_code.store(static_cast<uint16_t>(payload_length_code(list.bounds.greatest)),
                                   std::memory_order_relaxed);
      block->shortest.store(list.bounds.shortest, std::memory_order_relaxed);
      slot->set_block(block);
      slot->set_ranked(frozen->ranked(list.bounds));
      slot->count.store(list.n | kListBit, std::memory_order_relaxed);
      block_bytes += Block::held_bytes(block->capacity);
    }
  } catch (...) {
    for (size_t i = 0; i < table->n_slots; ++i) {
      const Slot& slot = table->slots[i];
      if (slot.count.load(std::memory_order_relaxed) & kListBit) Block::destroy(slot.block());
    }
    throw;
  }
  block_bytes_ += block_bytes;
  ranked_bytes_ += frozen->ranked_bytes();
  frozen->release_ranked();
  form_.store(reinterpret_cast<uintptr_t>(table.release()), std::memory_order_release);
  base::retire(frozen, FrozenPostings::destroy);
}

}  // namespace scrubjay::lexical
