// The prefixes of a posting table's terms (term_prefixes.hpp) and their letters (term_letters.hpp), built
// when a reader first requests them.
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/access.hpp"
#include "base/epoch.hpp"
#include "lexical/posting_slots.hpp"
#include "lexical/term_letters.hpp"
#include "text/compounds.hpp"
#include "text/term_key.hpp"
#include "text/two_edits.hpp"

namespace scrubjay::lexical {

namespace {

// Calls visit(key, term_at) for each term.
template <class Visit>
void visit_frozen(const FrozenPostings* frozen, Visit&& visit) {
  for (uint32_t i = 0; frozen && i < frozen->n_terms(); ++i) visit(frozen->key(i), frozen->term_at(i));
}

}  // namespace

// Calls visit(key, term_at) for each term of a dictionary in this form, also for those being inserted; not
// for those of `seen`.
template <class Visit>
void PostingTable::visit_terms(uintptr_t form, Visit&& visit, const FrozenPostings* seen) const {
  const FrozenPostings* frozen = frozen_of(form);
  if (frozen != seen) visit_frozen(frozen, visit);
  const Table* table = table_of(form);
  for (size_t i = 0; table && i < table->n_slots; ++i) {
    const Slot& slot = table->slots[i];
    const uint64_t key = slot.key.load(std::memory_order_acquire);
    if (key != 0) visit(key, slot.term_at.load(std::memory_order_relaxed));
  }
}

std::string_view PostingTable::term_of(uint64_t key, uint32_t term_at, PackedTerm& buffer) const noexcept {
  if (!text::is_packed(key)) return long_term(term_at);
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<char>(key >> (8 * i) & 0xff);
  return {buffer.data(), static_cast<size_t>(key >> 56)};
}

// Adds the first bytes of a term, in the format of TermPrefixes::add(), and the term to the list.
template <base::Access access>
void PostingTable::add_prefixes_of(uint64_t key, uint32_t term_at, TermPrefixes& out) const noexcept {
  PackedTerm buffer;
  const std::string_view term = term_of(key, term_at, buffer);
  if (TermStarts* starts = out.starts()) starts->add<access>(term, term_at);
  if (text::is_packed(key)) {
    out.add_term<access>(key);
    return out.add<access>(key & text::kPackedBytes, term.size());
  }
  out.add_term<access>(text::term_key(term));
  out.add<access>(base::load_bytes(term.data(), TermPrefixes::kMost), term.size());
  if (term.size() >= text::kVeryLongCompoundBytes && text::may_be_in_compound(term))
    out.add_inside<access>(term);
}

bool PostingTable::add_tiny_prefixes(TermPrefixes& out) const noexcept {
  const TinyPostings* tiny = this->tiny();
  if (!tiny) return false;
  const uint32_t n = tiny->size();
  for (uint32_t i = 0; i < n; ++i) {
    const bool is_long = tiny->is_long(i);
    add_prefixes_of<base::Access::alone>(is_long ? text::kHashedTermFlag : tiny->short_key(i),
                                         is_long ? tiny->term_at(i) : 0, out);
  }
  return true;
}

// The writer inserts a term and then reads the filter pointer; a reader stores the filter pointer and then
// scans the terms. Both modify the same atomic, so one comes first: either the reader sees the writer's term,
// or the writer sees the filter.
const TermPrefixes* PostingTable::prefixes() const noexcept {
  if (const TermPrefixes* current = prefixes_.load(std::memory_order_acquire))
    return current->complete() ? current : nullptr;
  const uintptr_t first_form = form_.load(std::memory_order_acquire);
  if (first_form == 0 || tiny_of(first_form)) return nullptr;
  size_t n_terms = 0;
  TermStarts::Counts n_starts{};
  visit_terms(first_form, [&](uint64_t key, uint32_t term_at) {
    ++n_terms;
    PackedTerm buffer;
    const char first = term_of(key, term_at, buffer).front();
    if (first >= 'a' && first <= 'z') ++n_starts[static_cast<size_t>(first - 'a')];
  });
  std::unique_ptr<TermPrefixes> filter;
  try {
    filter =
        std::make_unique<TermPrefixes>(n_terms + n_terms / 2 + 64, std::make_unique<TermStarts>(n_starts));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  const FrozenPostings* frozen = frozen_of(first_form);
  visit_frozen(frozen, [&](uint64_t key, uint32_t term_at) {
    add_prefixes_of<base::Access::alone>(key, term_at, *filter);
  });
  TermPrefixes* none = nullptr;
  if (!prefixes_.compare_exchange_strong(none, filter.get(), std::memory_order_acq_rel)) return nullptr;
  TermPrefixes* filled = filter.release();
  // The terms inserted before are in this form, or in the one that it replaced.
  visit_terms(
      form_.load(std::memory_order_acquire),
      [&](uint64_t key, uint32_t term_at) { add_prefixes_of<base::Access::shared>(key, term_at, *filled); },
      frozen);
  filled->set_complete();
  return filled;
}

// Call after a term was inserted. A filter that has become too small is dropped, and the next
// reader makes another.
void PostingTable::keep_prefixes(uint64_t key, uint32_t term_at) noexcept {
  TermPrefixes* current = prefixes_.fetch_add(0, std::memory_order_acq_rel);
  if (!current) return;
  add_prefixes_of<base::Access::shared>(key, term_at, *current);
  if (!current->full() || !current->complete()) return;
  prefixes_.store(nullptr, std::memory_order_release);
  base::retire(std::unique_ptr<TermPrefixes>(current));
}

// Without a complete list, all terms are examined.
void PostingTable::find_near(const text::TwoEdits& word,
                             const std::function<void(std::string_view)>& visit) const {
  const auto examine = [&](std::string_view term) {
    if (!term.empty() && term.front() == word.first() && TermStarts::letters_of(term) != 0 &&
        word.may_mean(term))
      visit(term);
  };
  static_assert(std::is_same_v<PackedTerm, TermStarts::Start::Letters>);
  PackedTerm buffer;
  const uintptr_t form = form_.load(std::memory_order_acquire);
  if (const TinyPostings* tiny = tiny_of(form)) {
    const uint32_t n = tiny->size();
    for (uint32_t i = 0; i < n; ++i) {
      const bool is_long = tiny->is_long(i);
      examine(is_long ? long_term(tiny->term_at(i)) : term_of(tiny->short_key(i), 0, buffer));
    }
    return;
  }
  const TermPrefixes* filter = prefixes();
  if (filter && !filter->starts()->overflown()) {
    filter->starts()->visit_near(word, [&](TermStarts::Start start) {
      examine(start.is_long() ? long_term(start.term_at()) : start.term(word.first(), buffer));
    });
    return;
  }
  visit_terms(form_.load(std::memory_order_acquire),
              [&](uint64_t key, uint32_t term_at) { examine(term_of(key, term_at, buffer)); });
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
