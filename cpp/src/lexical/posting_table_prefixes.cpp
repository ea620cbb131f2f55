// The prefixes of a posting table's terms (term_prefixes.hpp) and their letters (term_letters.hpp), built
// when a reader first requests them.
#include <functional>
#include <memory>
#include <new>
#include <string_view>

#include "base/epoch.hpp"
#include "lexical/posting_slots.hpp"
#include "lexical/term_letters.hpp"
#include "text/compounds.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

// Adds the first bytes of a term, in the format of TermPrefixes::add().
void PostingTable::add_prefixes_of(uint64_t key, uint32_t term_at, TermPrefixes& out) const noexcept {
  if (text::is_packed(key)) {
    out.add_term(key);
    return out.add(key & text::kPackedBytes, static_cast<size_t>(key >> 56));
  }
  const std::string_view term = long_term(term_at);
  out.add_term(text::term_key(term));
  out.add(base::load_bytes(term.data(), TermPrefixes::kMost), term.size());
  if (term.size() >= text::kVeryLongCompoundBytes && text::may_be_in_compound(term)) out.add_inside(term);
}

bool PostingTable::add_tiny_prefixes(TermPrefixes& out) const noexcept {
  const TinyPostings* tiny = this->tiny();
  if (!tiny) return false;
  const uint32_t n = tiny->size();
  for (uint32_t i = 0; i < n; ++i) {
    const bool is_long = tiny->is_long(i);
    add_prefixes_of(is_long ? text::kHashedTermFlag : tiny->short_key(i), is_long ? tiny->term_at(i) : 0,
                    out);
  }
  return true;
}

// The writer inserts a term and then reads the filter pointer; a reader stores the filter pointer and then
// scans the terms. Both modify the same atomic, so one comes first: either the reader sees the writer's term,
// or the writer sees the filter.
const TermPrefixes* PostingTable::prefixes() const noexcept {
  if (const TermPrefixes* current = prefixes_.load(std::memory_order_acquire))
    return current->complete() ? current : nullptr;
  size_t n_terms = 0;
  if (const FrozenPostings* frozen = this->frozen()) {
    n_terms = frozen->n_terms();
  } else if (const Table* table = this->table()) {
    for (size_t i = 0; i < table->n_slots; ++i)
      n_terms += table->slots[i].key.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  } else {
    return nullptr;
  }
  std::unique_ptr<TermPrefixes> filter;
  try {
    filter = std::make_unique<TermPrefixes>(n_terms + n_terms / 2 + 64);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  TermPrefixes* none = nullptr;
  if (!prefixes_.compare_exchange_strong(none, filter.get(), std::memory_order_acq_rel)) return nullptr;
  TermPrefixes* filled = filter.release();
  // The terms inserted before are in this form, or in the one that it replaced.
  const uintptr_t form = form_.load(std::memory_order_acquire);
  if (const FrozenPostings* frozen = frozen_of(form)) {
    for (uint32_t i = 0; i < frozen->n_terms(); ++i)
      add_prefixes_of(frozen->key(i), frozen->term_at(i), *filled);
  }
  const Table* table = table_of(form);
  for (size_t i = 0; table && i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint64_t key = slot.key.load(std::memory_order_acquire);
    if (key != 0) add_prefixes_of(key, slot.term_at.load(std::memory_order_relaxed), *filled);
  }
  filled->set_complete();
  return filled;
}

// Call after a term was inserted. A filter that has become too small is dropped, and the next
// reader makes another.
void PostingTable::keep_prefixes(uint64_t key, uint32_t term_at) noexcept {
  TermPrefixes* current = prefixes_.fetch_add(0, std::memory_order_acq_rel);
  if (!current) return;
  add_prefixes_of(key, term_at, *current);
  if (!current->full() || !current->complete()) return;
  prefixes_.store(nullptr, std::memory_order_release);
  base::retire(std::unique_ptr<TermPrefixes>(current));
}

// The letters belong to the prefixes, and are dropped with them when the dictionary has outgrown them.
void PostingTable::find_containing(std::string_view letters,
                                   const std::function<void(std::string_view)>& visit) const {
  constexpr size_t kFewBytes = 2048;  // a scan of so few is cheaper than an index
  const TermPrefixes* filter = prefixes();
  const TermLetters* index = filter ? filter->letters() : nullptr;
  const auto all_bytes = [&]() noexcept {
    const size_t n = long_terms_bytes_.load(std::memory_order_acquire);
    return n == 0 ? std::string_view() : std::string_view(long_terms_.read(), n);
  };
  if (filter && all_bytes().size() > (index ? index->n_bytes() + index->n_bytes() / 8 : 0) + kFewBytes) {
    try {
      index = filter->keep(std::make_unique<TermLetters>(all_bytes()));
    } catch (const std::bad_alloc&) {  // use what is available
    }
  }
  const std::string_view bytes = all_bytes();  // at least the bytes that the index was built from
  if (index) index->find(letters, bytes.data(), visit);
  find_in_terms(letters, bytes, index ? index->n_bytes() : 0, visit);
}

}  // namespace scrubjay::lexical
