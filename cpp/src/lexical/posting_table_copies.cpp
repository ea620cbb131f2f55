// Whole tables: copying for compaction, writing and reading images.

#include <algorithm>
#include <memory>
#include <vector>

#include "base/epoch.hpp"
#include "base/interruption.hpp"
#include "lexical/posting_slots.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

void PostingTable::append_all(const PostingTable& from, uint32_t first,
                              std::span<const uint32_t> renumbered) {
  // Loaded after the documents were published, so it contains them all; data that its writer
  // replaces stays readable.
  const uintptr_t form = from.form_.load(std::memory_order_acquire);
  if (const TinyPostings* tiny = tiny_of(form)) return append_all_tiny(from, *tiny, first, renumbered);
  if (const FrozenPostings* frozen = frozen_of(form))
    return append_all_frozen(from, *frozen, first, renumbered);
  const Table* table = table_of(form);
  const auto n_docs = static_cast<uint32_t>(renumbered.size());
  TermPostings postings;
  for (size_t i = 0; table && i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint64_t key = slot.key.load(std::memory_order_acquire);
    if (key == 0) continue;
    base::interruption_point();
    read_slot(slot, n_docs, nullptr, postings);
    std::string_view term;
    if (key >> 63 != 0) term = from.long_term(slot.term_at.load(std::memory_order_relaxed));
    append_list(key, term, postings, first, renumbered);
  }
}

void PostingTable::append_list(uint64_t key, std::string_view term, const TermPostings& postings,
                               uint32_t first, std::span<const uint32_t> renumbered) {
  const uint16_t* offsets = postings.offsets();
  uint32_t at = first == 0
                    ? 0
                    : static_cast<uint32_t>(std::lower_bound(offsets, offsets + postings.n, first) - offsets);
  Slot* slot = nullptr;
  for (; at < postings.n; ++at) {
    const uint32_t doc = renumbered[offsets[at]];
    if (doc == kGone) continue;
    if (!slot && this->table()) slot = &find_or_insert(key, term);
    if (slot) {
      append_to(*slot, static_cast<uint16_t>(doc), postings.payloads()[at], nullptr);
    } else {
      append(key, term, static_cast<uint16_t>(doc), postings.payloads()[at], nullptr);
    }
  }
}

void PostingTable::recount_dead(const base::Bitmap& dead) noexcept {
  if (const Table* table = this->table()) recount_dead(*table, dead);
}

void PostingTable::recount_dead(const Table& table, const base::Bitmap& dead) noexcept {
  for (size_t i = 0; i < table.n_slots; ++i) {
    const Slot& slot = table.slots[i];
    const uint32_t count = slot.count.load(std::memory_order_relaxed);
    if (!(count & kListBit)) continue;  // readers count deleted documents among inline postings themselves
    Block* block = slot.block();
    uint32_t n_dead = 0;
    for (uint32_t k = 0; k < (count & ~kListBit); ++k) n_dead += dead.test(block->offsets()[k]) ? 1 : 0;
    block->n_dead.store(n_dead, std::memory_order_relaxed);
  }
}

PostingTable::Listed PostingTable::listed(uint64_t key, uint32_t at, uint32_t term_at) const noexcept {
  return {text::is_packed(key) ? key : text::stored_term_key(long_term(term_at)), at, term_at};
}

// Terms with the same stored key, which can be constructed, are ordered by their bytes.
void PostingTable::sort(std::vector<Listed>& lists) const noexcept {
  std::sort(lists.begin(), lists.end(), [this](const Listed& left, const Listed& right) {
    if (left.key != right.key) return is_stored_before(left.key, right.key);
    return !text::is_packed(left.key) && long_term(left.term_at) < long_term(right.term_at);
  });
}

void PostingTable::for_each(const std::function<void(const List&)>& visit) const {
  if (const TinyPostings* tiny = this->tiny()) return for_each_tiny(*tiny, visit);
  if (const FrozenPostings* frozen = this->frozen()) return for_each_frozen(*frozen, visit);
  const Table* table = this->table();
  if (!table) return;
  std::vector<Listed> lists;
  lists.reserve(n_terms_);
  for (size_t i = 0; i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint64_t key = slot.key.load(std::memory_order_relaxed);
    if (key == 0 || slot.count.load(std::memory_order_relaxed) == 0) continue;
    lists.push_back(listed(key, static_cast<uint32_t>(i), slot.term_at.load(std::memory_order_relaxed)));
  }
  sort(lists);
  for (const Listed& entry : lists) {
    const Slot& slot = table->slots[entry.at];
    const uint32_t count = slot.count.load(std::memory_order_acquire);
    List list;
    list.key = entry.key;
    if (!text::is_packed(list.key)) list.long_term = long_term(entry.term_at);
    uint16_t offsets[kMaxInline], payloads[kMaxInline];
    list.n = count & ~kListBit;
    if (count & kListBit) {
      Block* block = slot.block();
      list.offsets = block->offsets();
      list.payloads = block->payloads();
      list.n_dead = block->n_dead.load(std::memory_order_relaxed);
    } else {
      for (uint32_t k = 0; k < list.n; ++k) {
        offsets[k] = static_cast<uint16_t>(slot.inline_posting(k));
        payloads[k] = static_cast<uint16_t>(slot.inline_posting(k) >> 16);
      }
      list.offsets = offsets;
      list.payloads = payloads;
      list.n_dead = kNotCounted;
    }
    visit(list);
  }
}

bool PostingTable::adopt(uint64_t key, std::string_view term, std::span<const uint16_t> offsets,
                         std::span<const uint16_t> payloads) {
  if (const TinyPostings* tiny = this->tiny(); tiny && find_tiny(*tiny, key, term) != tiny->size())
    return false;
  if (const Slot* slot = find_slot(table(), key, term); slot && slot->count.load(std::memory_order_relaxed))
    return false;
  for (size_t i = 0; i < offsets.size(); ++i) append(key, term, offsets[i], payloads[i], nullptr);
  return true;
}

}  // namespace scrubjay::lexical
