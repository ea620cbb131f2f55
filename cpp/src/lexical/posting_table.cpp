#include "lexical/posting_table.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/epoch.hpp"
#include "lexical/posting_slots.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

void PostingTable::destroy_lists(const Table& table) noexcept {
  for (size_t i = 0; i < table.n_slots; ++i) {
    const Slot& slot = table.slots[i];
    if (!(slot.count.load(std::memory_order_relaxed) & kListBit)) continue;
    Block::destroy(slot.block());
    RankedBitmap::destroy(slot.ranked());
  }
}

PostingTable::~PostingTable() {
  TinyPostings::destroy(tiny());
  FrozenPostings::destroy(frozen());
  const std::unique_ptr<const Table> table(this->table());
  if (table) destroy_lists(*table);
  delete prefixes_.load(std::memory_order_relaxed);
}

bool PostingTable::holds_term(const Slot& slot, uint64_t key, std::string_view term) const noexcept {
  if (key >> 63 == 0) return true;  // short terms are their own key
  return long_term(slot.term_at.load(std::memory_order_relaxed)) == term;
}

std::string_view PostingTable::long_term(uint32_t at) const noexcept {
  const char* bytes = long_terms_.read() + at;
  return {bytes + 1, static_cast<unsigned char>(*bytes)};
}

// Appends the bytes of a new long term; returns their offset.
uint32_t PostingTable::keep_bytes(std::string_view term) {
  const uint32_t at = long_terms_bytes_.load(std::memory_order_relaxed);
  long_terms_.reserve(size_t{at} + 1 + term.size(), at);
  long_terms_.data()[at] = static_cast<char>(term.size());
  std::memcpy(long_terms_.data() + at + 1, term.data(), term.size());
  // Readers of all terms rely on this order (find_containing): the bytes and their array are stored before.
  long_terms_bytes_.store(at + static_cast<uint32_t>(1 + term.size()), std::memory_order_release);
  return at;
}

PostingTable::Slot* PostingTable::find_slot(Table* table, uint64_t key,
                                            std::string_view term) const noexcept {
  if (!table) return nullptr;
  size_t i = table->home(key);
  for (uint32_t left = table->probing.most(); left != 0; --left, i = table->next(i)) {
    Slot& slot = table->slots[i];
    const uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == key && holds_term(slot, key, term)) return &slot;
    if (found == 0) break;  // the table is never full
  }
  return nullptr;
}

PostingTable::Slot& PostingTable::find_or_insert(uint64_t key, std::string_view term) {
  Table* table = this->table();
  if (Slot* slot = find_slot(table, key, term)) return *slot;
  if (!table || n_terms_ + 1 > Table::most_terms(table->n_slots)) table = &grow_table();
  const uint32_t term_at = key >> 63 != 0 ? keep_bytes(term) : 0;
  Slot* slot = table->insert(key, term_at);
  while (!slot) {
    table = &rebuild_table(table->n_slots, table->probing.harder());
    slot = table->insert(key, term_at);
  }
  ++n_terms_;
  keep_prefixes(key, term_at);
  return *slot;
}

PostingTable::Table& PostingTable::grow_table() {
  const Table* old = table();
  if (!old) return rebuild_table(kFirstTableSlots, base::Probing::fresh());
  return rebuild_table(old->n_slots + old->n_slots / (old->n_slots < Table::kSmall ? 8 : 4) + 4,
                       old->probing);
}

// Replaces the table by one with that many slots.
PostingTable::Table& PostingTable::rebuild_table(size_t n_slots, base::Probing probing) {
  Table* old = table();
  auto rebuilt = std::make_unique<Table>(n_slots, probing);
  while (old && !rebuilt->copy(*old)) {
    probing = probing.harder();
    rebuilt = std::make_unique<Table>(n_slots, probing);
  }
  Table* published = rebuilt.release();
  form_.store(reinterpret_cast<uintptr_t>(published), std::memory_order_release);
  if (old) base::retire(std::unique_ptr<Table>(old));
  return *published;
}

void PostingTable::append(uint64_t key, std::string_view term, uint16_t offset, uint16_t payload,
                          const base::Bitmap* dead) {
  if (!table()) {
    if (frozen()) {
      thaw();
    } else {
      if (append_tiny(key, term, offset, payload)) return;
      leave_tiny(dead);
    }
  }
  append_to(find_or_insert(key, term), offset, payload, dead);
}

void PostingTable::append_to(Slot& slot, uint16_t offset, uint16_t payload, const base::Bitmap* dead) {
  const uint32_t count = slot.count.load(std::memory_order_relaxed);
  if (count & kListBit) {
    append_to_block(slot, count & ~kListBit, offset, payload);
  } else if (count < kMaxInline) {
    slot.set_inline_posting(count, pack(offset, payload));
    slot.count.store(count + 1, std::memory_order_release);
  } else {
    move_to_block(slot, offset, payload, dead);
  }
  ++n_postings_;
}

void PostingTable::append_to_block(Slot& slot, uint32_t n, uint16_t offset, uint16_t payload) {
  Block* block = slot.block();
  if (n == block->capacity) {
    // Short lists grow by halves, long ones, which hold most of the postings, by quarters.
    const uint32_t more = block->capacity < 64 ? block->capacity / 2 : block->capacity / 4;
    Block* grown = Block::make((block->capacity + more + 3) & ~3u);
    std::memcpy(grown->offsets(), block->offsets(), n * sizeof(uint16_t));
    std::memcpy(grown->payloads(), block->payloads(), n * sizeof(uint16_t));
    grown->n_dead.store(block->n_dead.load(std::memory_order_relaxed), std::memory_order_relaxed);
    grown->max_tf.store(block->max_tf.load(std::memory_order_relaxed), std::memory_order_relaxed);
    grown->max_length_code.store(block->max_length_code.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
    grown->shortest.store(block->shortest.load(std::memory_order_relaxed), std::memory_order_relaxed);
    block_bytes_ += Block::held_bytes(grown->capacity) - Block::held_bytes(block->capacity);
    slot.set_block(grown);
    base::retire(block, Block::destroy);
    block = grown;
  }
  block->put(n, offset, payload);
  rank(slot, n, offset);
  slot.count.store((n + 1) | kListBit, std::memory_order_release);
}

// Maintains the ranked bitmap, if the list should have one, before posting number n, of document
// `offset`, is published.
void PostingTable::rank(Slot& slot, uint32_t n, uint16_t offset) {
  RankedBitmap* ranked = slot.ranked();
  if (!ranked || !ranked->has_room(offset)) {
    if (!ranked && !RankedBitmap::pays(n + 1, offset)) return;
    RankedBitmap* grown = nullptr;
    if (RankedBitmap::pays(n + 1, offset)) {
      grown = RankedBitmap::make(offset);
      grown->add_all(slot.block()->offsets(), n);
    }
    set_ranked(slot, grown);
    ranked = grown;
  }
  if (ranked) ranked->add(offset, n);
}

void PostingTable::set_ranked(Slot& slot, RankedBitmap* ranked) noexcept {
  RankedBitmap* old = slot.ranked();
  ranked_bytes_ += ranked ? ranked->memory_bytes() : 0;
  ranked_bytes_ -= old ? old->memory_bytes() : 0;
  slot.set_ranked(ranked);
  if (old) base::retire(old, RankedBitmap::destroy);
}

void PostingTable::move_to_block(Slot& slot, uint16_t offset, uint16_t payload, const base::Bitmap* dead) {
  Block* block = Block::make(kFirstBlockCapacity);
  uint32_t n_dead = 0;
  for (uint32_t i = 0; i < kMaxInline; ++i) {
    const uint32_t posting = slot.inline_posting(i);
    block->put(i, static_cast<uint16_t>(posting), static_cast<uint16_t>(posting >> 16));
    if (dead && dead->test(posting & 0xffffu)) ++n_dead;
  }
  block->put(kMaxInline, offset, payload);
  block->n_dead.store(n_dead, std::memory_order_relaxed);
  slot.count.store(kInTransit, std::memory_order_release);
  slot.set_block(block);
  slot.set_ranked(nullptr);
  slot.count.store((kMaxInline + 1) | kListBit, std::memory_order_release);
  block_bytes_ += Block::held_bytes(kFirstBlockCapacity);
}

void PostingTable::undo(uint64_t key, std::string_view term, uint16_t offset) noexcept {
  if (TinyPostings* tiny = this->tiny()) return undo_tiny(*tiny, key, term, offset);
  Slot* slot = find_slot(table(), key, term);
  if (!slot) return;
  const uint32_t count = slot->count.load(std::memory_order_relaxed);
  const uint32_t n = count & ~kListBit;
  if (n == 0) return;
  const uint32_t last =
      count & kListBit ? slot->block()->offsets()[n - 1] : slot->inline_posting(n - 1) & 0xffffu;
  if (last != offset) return;
  slot->count.store(count - 1, std::memory_order_release);
  if (RankedBitmap* ranked = count & kListBit ? slot->ranked() : nullptr) ranked->remove_last(offset);
  --n_postings_;
}

void PostingTable::count_dead(uint64_t key, std::string_view term, uint16_t offset) noexcept {
  Slot* slot = find_slot(table(), key, term);  // tiny or inline: readers count deleted documents themselves
  if (!slot) return;
  const uint32_t count = slot->count.load(std::memory_order_relaxed);
  if (!(count & kListBit)) return;
  Block* block = slot->block();
  const uint16_t* end = block->offsets() + (count & ~kListBit);
  if (!std::binary_search(static_cast<const uint16_t*>(block->offsets()), end, offset)) return;
  block->n_dead.store(block->n_dead.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void PostingTable::prefetch(uint64_t key) const noexcept {
  const uintptr_t form = form_.load(std::memory_order_acquire);
  if (const Table* table = table_of(form)) __builtin_prefetch(table->slots + table->home(key));
}

void PostingTable::find(uint64_t key, std::string_view term, uint32_t n_docs, const base::Bitmap* dead,
                        TermPostings& out) const {
  out.n = out.n_dead = 0;
  out.offsets_ = out.payloads_ = nullptr;
  out.ranked_ = nullptr;
  const uintptr_t form = form_.load(std::memory_order_acquire);
  if (const TinyPostings* tiny = tiny_of(form)) return copy_tiny(*tiny, key, term, n_docs, dead, out);
  if (const FrozenPostings* frozen = frozen_of(form)) {
    const uint64_t stored = text::is_packed(key) ? key : text::stored_term_key(term);
    const uint32_t found = frozen->find(stored, term, long_terms_.read());
    if (found != frozen->n_terms()) read_frozen(*frozen, found, n_docs, dead, out);
    return;
  }
  const Slot* slot = find_slot(table_of(form), key, term);
  if (slot) read_slot(*slot, n_docs, dead, out);
}

namespace {

// Prefetches the first postings of a list, enough of them for the hardware to prefetch the rest.
void prefetch_first(const uint16_t* numbers, uint32_t n) noexcept {
  constexpr size_t kMostBytes = 8 * base::kCacheLineBytes;
  const auto* bytes = reinterpret_cast<const char*>(numbers);
  for (size_t byte = 0; byte < std::min(n * sizeof(*numbers), kMostBytes); byte += base::kCacheLineBytes)
    __builtin_prefetch(bytes + byte);
}

}  // namespace

void PostingTable::find_all(std::span<const TermCount> terms, uint32_t n_docs, const base::Bitmap* dead,
                            TermPostings* out) const {
  constexpr size_t kAtOnce = 16;
  const uintptr_t form = form_.load(std::memory_order_acquire);
  if (tiny_of(form)) {
    for (const TermCount& term : terms) find(term.key, term.term, n_docs, dead, *out++);
    return;
  }
  if (const FrozenPostings* frozen = frozen_of(form)) return find_frozen(*frozen, terms, n_docs, dead, out);
  Table* table = table_of(form);
  const Slot* slots[kAtOnce];
  for (size_t begin = 0; begin < terms.size(); begin += kAtOnce) {
    const size_t n = std::min(kAtOnce, terms.size() - begin);
    for (size_t i = 0; table && i < n; ++i)
      __builtin_prefetch(table->slots + table->home(terms[begin + i].key));
    for (size_t i = 0; i < n; ++i) {
      const TermCount& term = terms[begin + i];
      slots[i] = find_slot(table, term.key, term.term);
      if (slots[i] && slots[i]->count.load(std::memory_order_relaxed) & kListBit)
        __builtin_prefetch(slots[i]->block());
    }
    for (size_t i = 0; i < n; ++i) {
      TermPostings& postings = out[begin + i];
      postings.n = postings.n_dead = 0;
      postings.offsets_ = postings.payloads_ = nullptr;
      postings.ranked_ = nullptr;
      if (!slots[i]) continue;
      read_slot(*slots[i], n_docs, dead, postings);
      if (postings.offsets_) {
        prefetch_first(postings.offsets_, postings.n);
        prefetch_first(postings.payloads_, postings.n);
      }
    }
  }
}

void PostingTable::read_slot(const Slot& slot, uint32_t n_docs, const base::Bitmap* dead, TermPostings& out) {
  out.n = out.n_dead = 0;
  out.offsets_ = out.payloads_ = nullptr;
  out.ranked_ = nullptr;
  for (;;) {
    const uint32_t count = slot.count.load(std::memory_order_acquire);
    if (count == kInTransit) continue;
    if (count & kListBit) {
      // The block is at least as new as the count, so it covers it.
      Block* block = slot.block();
      const uint32_t n = count & ~kListBit;
      out.n_dead = block->n_dead.load(std::memory_order_acquire);
      out.max_tf = block->max_tf.load(std::memory_order_relaxed);
      out.shortest = Shortest(block->shortest.load(std::memory_order_relaxed));
      out.max_length_code = block->max_length_code.load(std::memory_order_relaxed);
      out.offsets_ = block->offsets();
      out.payloads_ = block->payloads();
      out.ranked_ = slot.ranked();
      out.n = n;
      cut(out, n_docs);
      return;
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t posting = slot.inline_posting(i);
      out.inline_offsets_[i] = static_cast<uint16_t>(posting);
      out.inline_payloads_[i] = static_cast<uint16_t>(posting >> 16);
    }
    // If the postings were moved to a block meanwhile, the values read may be half an address.
    if (slot.count.load(std::memory_order_acquire) & kListBit) continue;
    uint32_t n = count;
    while (n != 0 && out.inline_offsets_[n - 1] >= n_docs) --n;
    out.n = n;
    sum_up(dead, out);
    return;
  }
}

// Cuts a list in place to the postings below n_docs.
void PostingTable::cut(TermPostings& list, uint32_t n_docs) noexcept {
  if (n_docs > kMaxOffset) return;  // without touching the list's end
  constexpr uint32_t kFew = 16;     // a batch being prepared may have thousands
  uint32_t n = list.n;
  const uint16_t* offsets = list.offsets_;
  while (n != 0 && offsets[n - 1] >= n_docs && list.n - n < kFew) --n;
  if (n != 0 && offsets[n - 1] >= n_docs)
    n = static_cast<uint32_t>(std::lower_bound(offsets, offsets + n, n_docs) - offsets);
  list.n = n;
}

// Computes the bounds that a block stores for its list, for copied postings.
void PostingTable::sum_up(const base::Bitmap* dead, TermPostings& out) noexcept {
  out.max_tf = out.max_length_code = 0;
  out.shortest = Shortest();
  for (uint32_t i = 0; i < out.n; ++i) {
    const uint32_t length_code = payload_length_code(out.inline_payloads_[i]);
    out.max_tf = std::max(out.max_tf, payload_tf(out.inline_payloads_[i]));
    out.shortest.add(payload_tf(out.inline_payloads_[i]), length_code);
    out.max_length_code = std::max(out.max_length_code, length_code);
    if (dead && dead->test(out.inline_offsets_[i])) ++out.n_dead;
  }
}

size_t PostingTable::memory_bytes() const noexcept {
  const TinyPostings* tiny = this->tiny();
  const FrozenPostings* frozen = this->frozen();
  const Table* table = this->table();
  const TermPrefixes* prefixes = prefixes_.load(std::memory_order_acquire);
  return (prefixes ? prefixes->memory_bytes() : 0) + block_bytes_ + ranked_bytes_ +
         long_terms_.memory_bytes() + (tiny ? tiny->held_bytes() : 0) +
         (frozen ? frozen->memory_bytes() : 0) +
         (table ? base::held_bytes(sizeof(Table)) + base::held_bytes(table->n_slots * sizeof(Slot)) : 0);
}

}  // namespace scrubjay::lexical
