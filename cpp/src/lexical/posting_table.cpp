#include "lexical/posting_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/epoch.hpp"
#include "base/hash.hpp"
#include "lexical/posting.hpp"

namespace scrubjay::lexical {
namespace {

constexpr uint32_t kListBit = 0x80000000u;  // in Slot::count: the postings are in a block
constexpr uint32_t kInTransit =
    0xffffffffu;  // they are just moving there; readers wait these few instructions
constexpr uint32_t kFirstBlockCapacity = 8;
constexpr size_t kFirstTableSlots = 12;

[[nodiscard]] uint32_t pack(uint16_t offset, uint16_t payload) noexcept {
  return offset | (static_cast<uint32_t>(payload) << 16);
}

}  // namespace

// A list of postings: this header, then capacity offsets, then capacity payloads.
struct PostingTable::Block {
  uint32_t capacity;
  std::atomic<uint32_t> n_dead;
  std::atomic<uint16_t> max_tf;
  std::atomic<uint16_t> max_length_code;
  std::atomic<uint32_t> shortest;

  [[nodiscard]] uint16_t* offsets() noexcept { return reinterpret_cast<uint16_t*>(this + 1); }
  [[nodiscard]] uint16_t* payloads() noexcept { return offsets() + capacity; }

  [[nodiscard]] static size_t bytes(uint32_t capacity) noexcept {
    return sizeof(Block) + size_t{capacity} * 2 * sizeof(uint16_t) + 4;  // a kernel may read two bytes beyond
  }
  // With what a usual allocator adds: a word before, in steps of 16.
  [[nodiscard]] static size_t held_bytes(uint32_t capacity) noexcept {
    return (bytes(capacity) + sizeof(size_t) + 15) & ~size_t{15};
  }
  [[nodiscard]] static Block* make(uint32_t capacity) {
    Block* block = new (::operator new(bytes(capacity))) Block;
    block->capacity = capacity;
    block->n_dead.store(0, std::memory_order_relaxed);
    block->max_tf.store(0, std::memory_order_relaxed);
    block->max_length_code.store(0, std::memory_order_relaxed);
    block->shortest.store(Shortest().packed(), std::memory_order_relaxed);
    return block;
  }
  static void destroy(void* raw) noexcept { ::operator delete(raw); }

  void put(uint32_t i, uint16_t offset, uint16_t payload) noexcept {
    offsets()[i] = offset;
    payloads()[i] = payload;
    const auto tf = static_cast<uint16_t>(payload_tf(payload));
    const auto length = static_cast<uint16_t>(payload_length_code(payload));
    if (tf > max_tf.load(std::memory_order_relaxed)) max_tf.store(tf, std::memory_order_relaxed);
    if (length > max_length_code.load(std::memory_order_relaxed))
      max_length_code.store(length, std::memory_order_relaxed);
    Shortest lengths(shortest.load(std::memory_order_relaxed));
    lengths.add(tf, length);
    shortest.store(lengths.packed(), std::memory_order_relaxed);
  }
};

// words: up to four inline postings (offset | payload << 16), or the addresses of the block and of the ranked
// bitmap, zero if there is none.
struct PostingTable::Slot {
  std::atomic<uint64_t> key{0};
  std::atomic<uint64_t> words[2] = {};
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> term_at{0};  // where a long term's bytes begin

  [[nodiscard]] Block* block() const noexcept {
    return reinterpret_cast<Block*>(static_cast<uintptr_t>(words[0].load(std::memory_order_acquire)));
  }
  void set_block(Block* block) noexcept {
    words[0].store(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(block)), std::memory_order_release);
  }
  [[nodiscard]] RankedBitmap* ranked() const noexcept {
    return reinterpret_cast<RankedBitmap*>(static_cast<uintptr_t>(words[1].load(std::memory_order_acquire)));
  }
  void set_ranked(RankedBitmap* ranked) noexcept {
    words[1].store(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ranked)), std::memory_order_release);
  }
  [[nodiscard]] uint32_t inline_posting(uint32_t i) const noexcept {
    return static_cast<uint32_t>(words[i / 2].load(std::memory_order_acquire) >> (32 * (i % 2)));
  }
  void set_inline_posting(uint32_t i, uint32_t posting) noexcept {
    const unsigned shift = 32 * (i % 2);
    const uint64_t old = words[i / 2].load(std::memory_order_relaxed);
    const uint64_t mask = uint64_t{0xffffffffu} << shift;
    words[i / 2].store((old & ~mask) | (static_cast<uint64_t>(posting) << shift), std::memory_order_release);
  }
};

struct PostingTable::Table {
  explicit Table(size_t n) : n_slots(n), slots(static_cast<Slot*>(base::allocate_aligned(n * sizeof(Slot)))) {
    static_assert(sizeof(Slot) == 32);
    for (size_t i = 0; i < n; ++i) new (slots + i) Slot;
  }
  ~Table() { base::free_aligned(slots); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Packed short terms share their high bytes, so the key is mixed; then scaled to any (not only power of
  // two) size.
  [[nodiscard]] size_t home(uint64_t key) const noexcept {
    const uint64_t mixed = base::mix64(key, 0x9e3779b97f4a7c15ull);
    return static_cast<size_t>((static_cast<uint64_t>(static_cast<uint32_t>(mixed)) * n_slots) >> 32);
  }
  // Four fifths full at most: a word that is not there is then missed after a dozen slots. Small tables, of
  // which there may be a million, seven eighths.
  static constexpr size_t kSmall = 256;
  [[nodiscard]] static size_t most_terms(size_t n_slots) noexcept {
    return n_slots < kSmall ? n_slots * 7 / 8 : n_slots * 4 / 5;
  }
  [[nodiscard]] size_t next(size_t i) const noexcept { return i + 1 == n_slots ? 0 : i + 1; }

  const size_t n_slots;
  Slot* const slots;
};

PostingTable::~PostingTable() {
  Table* table = table_.load(std::memory_order_relaxed);
  if (!table) return;
  for (size_t i = 0; i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    if (!(slot.count.load(std::memory_order_relaxed) & kListBit)) continue;
    Block::destroy(slot.block());
    RankedBitmap::destroy(slot.ranked());
  }
  delete table;
}

bool PostingTable::holds_term(const Slot& slot, uint64_t key, std::string_view term) const noexcept {
  if (key >> 63 == 0) return true;  // short terms are their own key
  const char* at = long_terms_.read() + slot.term_at.load(std::memory_order_relaxed);
  return static_cast<unsigned char>(*at) == term.size() && std::memcmp(at + 1, term.data(), term.size()) == 0;
}

PostingTable::Slot* PostingTable::find_slot(Table* table, uint64_t key,
                                            std::string_view term) const noexcept {
  if (!table) return nullptr;
  for (size_t i = table->home(key);; i = table->next(i)) {
    Slot& slot = table->slots[i];
    const uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == key && holds_term(slot, key, term)) return &slot;
    if (found == 0) return nullptr;  // the table is never full
  }
}

PostingTable::Slot& PostingTable::find_or_insert(uint64_t key, std::string_view term) {
  Table* table = table_.load(std::memory_order_relaxed);
  if (Slot* slot = find_slot(table, key, term)) return *slot;
  if (!table || n_terms_ + 1 > Table::most_terms(table->n_slots)) {
    grow_table();
    table = table_.load(std::memory_order_relaxed);
  }
  size_t term_at = 0;
  if (key >> 63 != 0) {
    long_terms_.reserve(long_terms_bytes_ + 1 + term.size(), long_terms_bytes_);
    term_at = long_terms_bytes_;
    long_terms_.data()[term_at] = static_cast<char>(term.size());
    std::memcpy(long_terms_.data() + term_at + 1, term.data(), term.size());
    long_terms_bytes_ += 1 + term.size();
  }
  size_t i = table->home(key);
  while (table->slots[i].key.load(std::memory_order_relaxed) != 0) i = table->next(i);
  Slot& slot = table->slots[i];
  slot.term_at.store(static_cast<uint32_t>(term_at), std::memory_order_relaxed);
  slot.key.store(key, std::memory_order_release);
  ++n_terms_;
  return slot;
}

void PostingTable::grow_table() {
  Table* old = table_.load(std::memory_order_relaxed);
  const size_t n_slots =
      old ? old->n_slots + old->n_slots / (old->n_slots < Table::kSmall ? 8 : 4) + 4 : kFirstTableSlots;
  auto grown = std::make_unique<Table>(n_slots);
  for (size_t i = 0; old && i < old->n_slots; ++i) {
    const Slot& from = old->slots[i];
    const uint64_t key = from.key.load(std::memory_order_relaxed);
    if (key == 0) continue;
    size_t at = grown->home(key);
    while (grown->slots[at].key.load(std::memory_order_relaxed) != 0) at = grown->next(at);
    Slot& to = grown->slots[at];
    to.key.store(key, std::memory_order_relaxed);
    for (int w = 0; w < 2; ++w)
      to.words[w].store(from.words[w].load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.count.store(from.count.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.term_at.store(from.term_at.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  table_.store(grown.release(), std::memory_order_release);
  if (old) base::retire(std::unique_ptr<Table>(old));
}

void PostingTable::append(uint64_t key, std::string_view term, uint16_t offset, uint16_t payload,
                          const base::Bitmap* dead) {
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
    // Short lists grow by halves, long ones by quarters: most of the postings are in those.
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

// Before posting number n, of document `offset`, is published: keeps the ranked bitmap, if the list should
// have one.
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
  Slot* slot = find_slot(table_.load(std::memory_order_relaxed), key, term);
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
  Slot* slot = find_slot(table_.load(std::memory_order_relaxed), key, term);
  if (!slot) return;
  const uint32_t count = slot->count.load(std::memory_order_relaxed);
  if (!(count & kListBit)) return;  // readers count the dead among inline postings themselves
  Block* block = slot->block();
  const uint16_t* end = block->offsets() + (count & ~kListBit);
  if (!std::binary_search(static_cast<const uint16_t*>(block->offsets()), end, offset)) return;
  block->n_dead.store(block->n_dead.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void PostingTable::prefetch(uint64_t key) const noexcept {
  const Table* table = table_.load(std::memory_order_acquire);
  if (table) __builtin_prefetch(table->slots + table->home(key));
}

void PostingTable::find(uint64_t key, std::string_view term, uint32_t n_docs, const base::Bitmap* dead,
                        TermPostings& out) const {
  out.n = out.n_dead = 0;
  out.offsets_ = out.payloads_ = nullptr;
  out.ranked_ = nullptr;
  const Slot* slot = find_slot(table_.load(std::memory_order_acquire), key, term);
  if (slot) read_slot(*slot, n_docs, dead, out);
}

void PostingTable::find_all(std::span<const TermCount> terms, uint32_t n_docs, const base::Bitmap* dead,
                            TermPostings* out) const {
  constexpr size_t kAtOnce = 16;
  Table* table = table_.load(std::memory_order_acquire);
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
      TermPostings& found = out[begin + i];
      found.n = found.n_dead = 0;
      found.offsets_ = found.payloads_ = nullptr;
      found.ranked_ = nullptr;
      if (slots[i]) read_slot(*slots[i], n_docs, dead, found);
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
      uint32_t n = count & ~kListBit;
      out.n_dead = block->n_dead.load(std::memory_order_acquire);
      out.max_tf = block->max_tf.load(std::memory_order_relaxed);
      out.shortest = Shortest(block->shortest.load(std::memory_order_relaxed));
      out.max_length_code = block->max_length_code.load(std::memory_order_relaxed);
      out.offsets_ = block->offsets();
      out.payloads_ = block->payloads();
      out.ranked_ = slot.ranked();
      if (n_docs <= kMaxOffset) {  // or the list's end need not come to the caches
        while (n != 0 && out.offsets_[n - 1] >= n_docs) --n;
      }
      out.n = n;
      return;
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t posting = slot.inline_posting(i);
      out.inline_offsets_[i] = static_cast<uint16_t>(posting);
      out.inline_payloads_[i] = static_cast<uint16_t>(posting >> 16);
    }
    // If the postings moved to a block meanwhile, what was read may be half an address.
    if (slot.count.load(std::memory_order_acquire) & kListBit) continue;
    uint32_t n = count;
    while (n != 0 && out.inline_offsets_[n - 1] >= n_docs) --n;
    out.n = n;
    out.max_tf = out.max_length_code = 0;
    out.shortest = Shortest();
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t length_code = payload_length_code(out.inline_payloads_[i]);
      out.max_tf = std::max(out.max_tf, payload_tf(out.inline_payloads_[i]));
      out.shortest.add(payload_tf(out.inline_payloads_[i]), length_code);
      out.max_length_code = std::max(out.max_length_code, length_code);
      if (dead && dead->test(out.inline_offsets_[i])) ++out.n_dead;
    }
    return;
  }
}

void PostingTable::append_all(const PostingTable& from, uint32_t first,
                              std::span<const uint32_t> renumbered) {
  // Loaded after the documents were published, so it holds them all; what its writer replaces stays readable.
  const Table* table = from.table_.load(std::memory_order_acquire);
  const auto n_docs = static_cast<uint32_t>(renumbered.size());
  TermPostings postings;
  for (size_t i = 0; table && i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint64_t key = slot.key.load(std::memory_order_acquire);
    if (key == 0) continue;
    read_slot(slot, n_docs, nullptr, postings);
    const uint16_t* offsets = postings.offsets();
    uint32_t at =
        first == 0 ? 0
                   : static_cast<uint32_t>(std::lower_bound(offsets, offsets + postings.n, first) - offsets);
    Slot* own = nullptr;
    for (; at < postings.n; ++at) {
      const uint32_t doc = renumbered[offsets[at]];
      if (doc == kGone) continue;
      if (!own) {
        std::string_view term;
        if (key >> 63 != 0) {
          const char* bytes = from.long_terms_.read() + slot.term_at.load(std::memory_order_relaxed);
          term = {bytes + 1, static_cast<unsigned char>(*bytes)};
        }
        own = &find_or_insert(key, term);
      }
      append_to(*own, static_cast<uint16_t>(doc), postings.payloads()[at], nullptr);
    }
  }
}

void PostingTable::recount_dead(const base::Bitmap& dead) noexcept {
  const Table* table = table_.load(std::memory_order_relaxed);
  for (size_t i = 0; table && i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint32_t count = slot.count.load(std::memory_order_relaxed);
    if (!(count & kListBit)) continue;  // readers count the dead among inline postings themselves
    Block* block = slot.block();
    uint32_t n_dead = 0;
    for (uint32_t k = 0; k < (count & ~kListBit); ++k) n_dead += dead.test(block->offsets()[k]) ? 1 : 0;
    block->n_dead.store(n_dead, std::memory_order_relaxed);
  }
}

void PostingTable::for_each(const std::function<void(const List&)>& visit) const {
  const Table* table = table_.load(std::memory_order_acquire);
  for (size_t i = 0; table && i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint32_t count = slot.count.load(std::memory_order_acquire);
    List list;
    list.key = slot.key.load(std::memory_order_relaxed);
    if (list.key == 0 || count == 0) continue;
    if (list.key >> 63 != 0) {
      const char* at = long_terms_.read() + slot.term_at.load(std::memory_order_relaxed);
      list.long_term = {at + 1, static_cast<unsigned char>(*at)};
    }
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

void PostingTable::reserve_terms(size_t n_terms) {
  const Table* table = table_.load(std::memory_order_relaxed);
  const size_t n_slots = (n_terms + 1) * 5 / 4 + 2;
  if (n_terms == 0 || (table && table->n_slots >= n_slots)) return;
  auto reserved = std::make_unique<Table>(n_slots);
  delete table_.exchange(reserved.release(), std::memory_order_release);  // empty, and nobody reads it yet
}

bool PostingTable::adopt(uint64_t key, std::string_view term, std::span<const uint16_t> offsets,
                         std::span<const uint16_t> payloads) {
  Slot& slot = find_or_insert(key, term);
  if (slot.count.load(std::memory_order_relaxed) != 0) return false;
  const auto n = static_cast<uint32_t>(offsets.size());
  if (n <= kMaxInline) {
    for (uint32_t i = 0; i < n; ++i) slot.set_inline_posting(i, pack(offsets[i], payloads[i]));
    slot.count.store(n, std::memory_order_release);
  } else {
    Block* block = Block::make((n + 3) & ~3u);
    for (uint32_t i = 0; i < n; ++i) block->put(i, offsets[i], payloads[i]);
    slot.set_block(block);
    slot.set_ranked(nullptr);
    if (RankedBitmap::pays(n, offsets.back())) {
      set_ranked(slot, RankedBitmap::make(offsets.back()));
      slot.ranked()->add_all(offsets.data(), n);
    }
    slot.count.store(n | kListBit, std::memory_order_release);
    block_bytes_ += Block::held_bytes(block->capacity);
  }
  n_postings_ += n;
  return true;
}

size_t PostingTable::memory_bytes() const noexcept {
  const Table* table = table_.load(std::memory_order_relaxed);
  return block_bytes_ + ranked_bytes_ + long_terms_.memory_bytes() +
         (table ? sizeof(Table) + table->n_slots * sizeof(Slot) : 0);
}

}  // namespace scrubjay::lexical
