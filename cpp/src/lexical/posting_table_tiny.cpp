// A posting table without a dictionary (tiny_postings.hpp), and its conversion to one with a dictionary.

#include <algorithm>
#include <memory>
#include <vector>

#include "base/epoch.hpp"
#include "lexical/posting_slots.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

// The term of posting i; the view of a long term lives under the epoch guard, that of a short one is empty.
std::string_view PostingTable::tiny_term(const TinyPostings& tiny, uint32_t i, uint64_t& key) const noexcept {
  if (!tiny.is_long(i)) {
    key = tiny.short_key(i);
    return {};
  }
  const std::string_view term = long_term(tiny.term_at(i));
  key = text::term_key(term);
  return term;
}

// The first posting of a term, or one past the last.
uint32_t PostingTable::find_tiny(const TinyPostings& tiny, uint64_t key,
                                 std::string_view term) const noexcept {
  const uint32_t n = tiny.size();
  uint32_t first = n;
  tiny.find(key, term, n, long_terms_.read(), [&](uint32_t i) {
    first = i;
    return false;
  });
  return first;
}

// Returns false, without a change, if this posting requires a dictionary.
bool PostingTable::append_tiny(uint64_t key, std::string_view term, uint16_t offset, uint16_t payload) {
  TinyPostings* tiny = this->tiny();
  const uint32_t n = tiny ? tiny->size() : 0;
  if (!TinyPostings::fits(offset, payload) || n == TinyPostings::kPostings) return false;
  if (!tiny || tiny->full()) tiny = &grow_tiny(n + 1);
  const uint32_t known = find_tiny(*tiny, key, term);
  uint32_t at = 0;
  if (key >> 63 != 0) at = known < n ? tiny->term_at(known) : keep_bytes(term);
  tiny->append(key, at, offset, payload);
  if (known == n) ++n_terms_;
  ++n_postings_;
  return true;
}

void PostingTable::expect(size_t n_more, uint32_t offset, uint32_t length_code) {
  if (table() || !TinyPostings::fits(offset, pack_payload(1, length_code))) return;
  const TinyPostings* tiny = this->tiny();
  const size_t n = (tiny ? tiny->size() : 0) + n_more;
  if (n_more != 0 && n <= TinyPostings::kPostings && !(tiny && tiny->holds(n)))
    grow_tiny(static_cast<uint32_t>(n));
}

// Little slack, since there may be a million partitions, none of which has much to copy.
TinyPostings& PostingTable::grow_tiny(uint32_t n_wanted) {
  TinyPostings* old = tiny();
  const uint32_t n = old ? old->size() : 0;
  TinyPostings* grown = TinyPostings::make(std::max(n_wanted, n + n / 16 + 4));
  if (old) grown->append_all(*old);
  form_.store(reinterpret_cast<uintptr_t>(grown) | kTinyBit, std::memory_order_release);
  if (old) base::retire(old, TinyPostings::destroy);
  return *grown;
}

void PostingTable::undo_tiny(TinyPostings& tiny, uint64_t key, std::string_view term,
                             uint16_t offset) noexcept {
  uint32_t last = tiny.size(), n_of_term = 0;
  tiny.find(key, term, tiny.size(), long_terms_.read(), [&](uint32_t i) {
    last = i;
    ++n_of_term;
    return true;
  });
  if (n_of_term == 0 || tiny.offset(last) != offset) return;
  tiny.remove(last);
  if (n_of_term == 1) --n_terms_;
  --n_postings_;
}

void PostingTable::copy_tiny(const TinyPostings& tiny, uint64_t key, std::string_view term, uint32_t n_docs,
                             const base::Bitmap* dead, TermPostings& out) const noexcept {
  // The count is read first and the bytes of long terms afterwards, so that they include those of all counted
  // postings; as arguments of one call they might be evaluated in the other order.
  const uint32_t n = tiny.size();
  const char* long_terms = long_terms_.read();
  // At most one for each document that the reader sees; later ones are not published.
  tiny.find(key, term, n, long_terms, [&](uint32_t i) {
    const uint32_t offset = tiny.offset(i);
    if (offset >= n_docs) return false;
    out.inline_offsets_[out.n] = static_cast<uint16_t>(offset);
    out.inline_payloads_[out.n++] = tiny.payload(i);
    return true;
  });
  sum_up(dead, out);
}

void PostingTable::append_all_tiny(const PostingTable& from, const TinyPostings& tiny, uint32_t first,
                                   std::span<const uint32_t> renumbered) {
  const uint32_t n = tiny.size();
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t offset = tiny.offset(i);
    if (offset < first || offset >= renumbered.size() || renumbered[offset] == kGone) continue;
    uint64_t key = 0;
    const std::string_view term = from.tiny_term(tiny, i, key);
    append(key, term, static_cast<uint16_t>(renumbered[offset]), tiny.payload(i), nullptr);
  }
}

void PostingTable::for_each_tiny(const TinyPostings& tiny,
                                 const std::function<void(const List&)>& visit) const {
  uint16_t offsets[TinyPostings::kDocs], payloads[TinyPostings::kDocs];
  const uint32_t n = tiny.size();
  std::vector<Listed> lists;
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t key = 0;
    const std::string_view term = tiny_term(tiny, i, key);
    if (find_tiny(tiny, key, term) != i) continue;  // listed with the first of its postings
    lists.push_back(listed(key, i, tiny.is_long(i) ? tiny.term_at(i) : 0));
  }
  sort(lists);
  for (const Listed& entry : lists) {
    List list;
    list.key = entry.key;
    uint64_t key = 0;
    const std::string_view term = list.long_term = tiny_term(tiny, entry.at, key);
    tiny.find(key, term, n, long_terms_.read(), [&](uint32_t at) {
      offsets[list.n] = static_cast<uint16_t>(tiny.offset(at));
      payloads[list.n++] = tiny.payload(at);
      return true;
    });
    list.offsets = offsets;
    list.payloads = payloads;
    list.n_dead = kNotCounted;
    visit(list);
  }
}

// Builds the dictionary beside the postings that readers use, and replaces them.
void PostingTable::leave_tiny(const base::Bitmap* dead) {
  TinyPostings* tiny = this->tiny();
  const uint32_t n = tiny ? tiny->size() : 0;
  if (n == 0) {
    grow_table();
    return;
  }
  // So small that every slot is within the probe limit.
  static_assert(Table::slots_for(TinyPostings::kPostings) <= base::Probing::kMost);
  auto table = std::make_unique<Table>(Table::slots_for(n_terms_), base::Probing::fresh());
  const size_t n_postings = n_postings_, block_bytes = block_bytes_;
  try {
    for (uint32_t i = 0; i < n; ++i) {
      uint64_t key = 0;
      const std::string_view term = tiny_term(*tiny, i, key);
      Slot* slot = find_slot(table.get(), key, term);
      if (!slot) slot = table->insert(key, tiny->is_long(i) ? tiny->term_at(i) : 0);
      append_to(*slot, static_cast<uint16_t>(tiny->offset(i)), tiny->payload(i), nullptr);
    }
  } catch (...) {
    destroy_lists(*table);
    n_postings_ = n_postings;
    block_bytes_ = block_bytes;
    throw;
  }
  n_postings_ = n_postings;
  if (dead) recount_dead(*table, *dead);
  form_.store(reinterpret_cast<uintptr_t>(table.release()), std::memory_order_release);
  base::retire(tiny, TinyPostings::destroy);
}

}  // namespace scrubjay::lexical
