#include "lexical/frozen_postings.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/errors.hpp"
#include "base/growing.hpp"
#include "base/interruption.hpp"

namespace scrubjay::lexical {
namespace {

[[noreturn]] void fail(const char* what) {
  throw base::Corrupt(std::string("image of a chunk: ") + what + " cannot be what was written");
}

[[nodiscard]] std::string_view long_term(const char* long_terms, uint32_t at) noexcept {
  return {long_terms + at + 1, static_cast<unsigned char>(long_terms[at])};
}

[[nodiscard]] bool is_short_key(uint64_t key) noexcept {
  const uint64_t size = key >> 56;
  return size >= 1 && size <= text::kMaxPackedBytes && (key & text::kPackedBytes) >> (8 * size) == 0;
}

// Whether each byte is one that Shortest may have.
[[nodiscard]] bool is_shortest(uint32_t packed) noexcept {
  constexpr uint32_t kNone = 0xff;
  for (uint32_t c = 0; c < Shortest::kClasses; ++c) {
    const Shortest shortest(packed);
    if (((packed >> (8 * c)) & 0xffu) != kNone && shortest.length_code(c) > kMaxLengthCode) return false;
  }
  return true;
}

}  // namespace

FrozenPostings::Bounds FrozenPostings::bounds_of(std::span<const uint16_t> payloads) noexcept {
  uint32_t tf = 0, length_code = 0;
  Shortest shortest;
  for (const uint16_t payload : payloads) {
    tf = std::max(tf, payload_tf(payload));
    length_code = std::max(length_code, payload_length_code(payload));
    shortest.add(payload_tf(payload), payload_length_code(payload));
  }
  return {pack_payload(tf, length_code), 0, shortest.packed()};
}

size_t FrozenPostings::bytes(uint32_t n_terms, uint64_t n_units) noexcept {
  // A kernel may read two bytes beyond the last payload.
  return sizeof(FrozenPostings) + (size_t{n_terms} + 1) * (sizeof(Term) + sizeof(uint32_t)) +
         n_units * sizeof(uint16_t) + sizeof(uint16_t);
}

FrozenPostings::~FrozenPostings() {
  if (!owns_ranked_) return;
  for (RankedBitmap* ranked : ranked_) RankedBitmap::destroy(ranked);
}

void FrozenPostings::destroy(void* raw) noexcept {
  auto* frozen = static_cast<FrozenPostings*>(raw);
  if (!frozen) return;
  frozen->~FrozenPostings();
  base::free_aligned(raw);
}

FrozenPostings::Owner FrozenPostings::make(const Source& source) {
  const uint64_t n_units = source.lists.size() / sizeof(uint16_t);
  if (source.n_terms == 0 || source.keys.size() != source.n_terms * sizeof(uint64_t) ||
      source.counts.size() != source.n_terms * sizeof(uint16_t) || n_units > 0xffffffffu) {
    fail("the number of terms");
  }
  void* memory = base::allocate_aligned(bytes(source.n_terms, n_units));
  Owner owner(new (memory) FrozenPostings(source.n_terms, n_units));
  std::memcpy(owner->units(), source.lists.data(), n_units * sizeof(uint16_t));
  owner->units()[n_units] = 0;
  owner->read_terms(source);
  owner->read_lists(source);
  return owner;
}

void FrozenPostings::read_terms(const Source& source) {
  const auto n_docs = static_cast<uint32_t>(source.length_codes.size());
  const char* const long_terms = source.long_terms.data();
  uint64_t unit = 0, previous = 0;
  size_t at = 0;
  uint32_t next_bucket = 0;
  std::string_view previous_term;
  for (uint32_t t = 0; t < n_terms_; ++t) {
    if (t % 4096 == 0) base::interruption_point();
    uint64_t key;
    uint16_t count;
    std::memcpy(&key, source.keys.data() + t * sizeof key, sizeof key);
    std::memcpy(&count, source.counts.data() + t * sizeof count, sizeof count);
    const uint32_t n = count + 1u;
    const uint64_t order = stored_order(key);
    std::string_view term;
    if (!text::is_packed(key)) {
      if (at >= source.long_terms.size()) fail("a term");
      term = long_term(long_terms, static_cast<uint32_t>(at));
      if (term.size() <= text::kMaxPackedBytes || term.size() >= source.long_terms.size() - at ||
          text::stored_term_key(term) != key)
        fail("a term");
    } else if (!is_short_key(key)) {
      fail("a term");
    }
    if (t != 0 && (order < previous || (order == previous && previous_term >= term)))
      fail("the order of terms");
    if (n > n_docs || list_units(n) > n_units_ - unit) fail("a number of postings");
    terms()[t] = {key, static_cast<uint32_t>(unit), static_cast<uint32_t>(at)};
    for (const uint32_t bucket = bucket_of(order); next_bucket <= bucket;) directory()[next_bucket++] = t;
    if (!term.empty()) at += 1 + term.size();
    unit += list_units(n);
    n_postings_ += n;
    previous = order;
    previous_term = term;
  }
  if (unit != n_units_ || at != source.long_terms.size()) fail("the size of the terms");
  terms()[n_terms_] = {0, static_cast<uint32_t>(unit), 0};
  while (next_bucket <= n_terms_) directory()[next_bucket++] = n_terms_;
}

void FrozenPostings::read_lists(const Source& source) {
  for (uint32_t t = 0; t < n_terms_; ++t) {
    if (t % 4096 == 0) base::interruption_point();
    const List list = this->list(t);
    check_list(list, source.length_codes);
    if (list.n <= kMostBare) continue;
    if (list.bounds.ranked != 0 || payload_tf(list.bounds.greatest) == 0 || !is_shortest(list.bounds.shortest))
      fail("the bounds of a list");
    rank(t);
  }
}

// A list in this table.
void FrozenPostings::check_list(List list, std::span<const uint16_t> length_codes) const {
  bool falls = list.offsets[list.n - 1] >= length_codes.size();
  for (uint32_t i = 1; i < list.n; ++i) falls |= list.offsets[i] <= list.offsets[i - 1];
  if (falls) fail("a posting's document");
  bool differs = false;
  for (uint32_t i = 0; i < list.n; ++i) {
    differs |= payload_tf(list.payloads[i]) == 0;
    differs |= payload_length_code(list.payloads[i]) != length_codes[list.offsets[i]];
  }
  if (differs) fail("a posting");
}

void FrozenPostings::rank(uint32_t term) {
  const List list = this->list(term);
  if (!RankedBitmap::pays(list.n, list.offsets[list.n - 1]) || ranked_.size() == 0xffff) return;
  if (ranked_.size() == ranked_.capacity()) ranked_.reserve(std::max<size_t>(16, 2 * ranked_.size()));
  RankedBitmap* ranked = RankedBitmap::make(list.offsets[list.n - 1]);
  ranked_.push_back(ranked);
  ranked->add_all(list.offsets, list.n);
  ranked_bytes_ += ranked->memory_bytes();
  Bounds bounds = list.bounds;
  bounds.ranked = static_cast<uint16_t>(ranked_.size());
  std::memcpy(units() + terms()[term].list, &bounds, sizeof bounds);
}

size_t FrozenPostings::memory_bytes() const noexcept {
  return base::held_bytes(bytes(n_terms_, n_units_)) + base::held_bytes(ranked_.capacity() * sizeof(void*)) +
         ranked_bytes_;
}

bool FrozenPostings::is_before(const Term& term, uint64_t order, uint64_t stored_key, std::string_view bytes,
                               const char* long_terms) const noexcept {
  if (term.key != stored_key) return stored_order(term.key) < order;
  return !text::is_packed(stored_key) && long_term(long_terms, term.term_at) < bytes;
}

uint32_t FrozenPostings::find(uint64_t stored_key, std::string_view term,
                              const char* long_terms) const noexcept {
  const uint64_t order = stored_order(stored_key);
  const uint32_t bucket = bucket_of(order);
  uint32_t first = directory()[bucket], last = directory()[bucket + 1];
  constexpr uint32_t kFew = 8;
  while (last - first > kFew) {
    const uint32_t middle = first + (last - first) / 2;
    (is_before(terms()[middle], order, stored_key, term, long_terms) ? first : last) = middle;
  }
  // Cut by halves, the last one may itself be the term.
  for (const uint32_t end = std::min(last + 1, n_terms_); first < end; ++first) {
    if (terms()[first].key == stored_key &&
        (text::is_packed(stored_key) || long_term(long_terms, terms()[first].term_at) == term))
      return first;
  }
  return n_terms_;
}

FrozenPostings::List FrozenPostings::list(uint32_t term) const noexcept {
  const uint32_t first = terms()[term].list, n_units = terms()[term + 1].list - first;
  const uint16_t* at = units() + first;
  List list;
  if (n_units > 2 * kMostBare) {
    std::memcpy(&list.bounds, at, sizeof list.bounds);
    at += sizeof(Bounds) / sizeof(uint16_t);
    list.n = (n_units - static_cast<uint32_t>(sizeof(Bounds) / sizeof(uint16_t))) / 2;
  } else {
    list.n = n_units / 2;
  }
  list.offsets = at;
  list.payloads = at + list.n;
  return list;
}

}  // namespace scrubjay::lexical
