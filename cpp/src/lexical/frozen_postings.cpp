#include "lexical/frozen_postings.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "base/errors.hpp"
#include "base/growing.hpp"
#include "base/interruption.hpp"

namespace scrubjay::lexical {
namespace {

[[noreturn]] void fail(const char* what) {
  throw base::Corrupt(std::string("image of a chunk: corrupt (") + what + ")");
}

[[nodiscard]] std::string_view long_term(const char* long_terms, uint32_t at) noexcept {
  return {long_terms + at + 1, static_cast<unsigned char>(long_terms[at])};
}

[[nodiscard]] bool is_short_key(uint64_t key) noexcept {
  const uint64_t size = key >> 56;
  return size >= 1 && size <= text::kMaxPackedBytes && (key & text::kPackedBytes) >> (8 * size) == 0;
}

// Whether all bytes are valid for Shortest.
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

size_t FrozenPostings::Size::bytes() const noexcept {
  // A kernel may read two bytes beyond the last payload.
  return sizeof(FrozenPostings) + size_t{n_terms} * sizeof(Term) + size_t{n_bounds} * sizeof(Bounds) +
         (size_t{n_terms} + kEnds) * sizeof(uint32_t) + (2 * size_t{n_postings} + 1) * sizeof(uint16_t);
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
  const size_t n_short = source.short_keys.size() / sizeof(uint64_t),
               n_bounds = source.bounds.size() / sizeof(Bounds),
               n_postings = source.offsets.size() / sizeof(uint16_t);
  if (n_postings > 0xffffffffu || n_bounds > source.n_terms || n_short > source.n_terms ||
      source.payloads.size() != source.offsets.size())
    fail("the number of postings");
  std::vector<base::Place> places;
  Owner owner = place(source.n_terms, static_cast<uint32_t>(n_short), static_cast<uint32_t>(n_bounds),
                      static_cast<uint32_t>(n_postings), places);
  const std::string_view parts[] = {source.bounds, source.offsets, source.payloads};
  for (size_t i = 0; i < std::size(parts); ++i)
    if (!parts[i].empty()) std::memcpy(places[i].memory, parts[i].data(), parts[i].size());
  owner->settle(source);
  return owner;
}

FrozenPostings::Owner FrozenPostings::place(uint32_t n_terms, uint32_t n_short, uint32_t n_bounds,
                                            uint32_t n_postings, std::vector<base::Place>& out) {
  if (n_terms == 0 || n_short > n_terms) fail("the number of terms");
  if (n_bounds > n_terms) fail("the number of postings");
  const Size size{n_terms, n_short, n_bounds, n_postings};
  Owner owner(new (base::allocate_aligned(size.bytes())) FrozenPostings(size));
  const auto add = [&](const void* part, size_t n_bytes) {
    out.push_back({static_cast<char*>(const_cast<void*>(part)), n_bytes});
  };
  add(owner->bounds(), n_bounds * sizeof(Bounds));
  add(owner->offsets(), n_postings * sizeof(uint16_t));
  add(owner->payloads(), n_postings * sizeof(uint16_t));
  to_fill(owner->payloads())[n_postings] = 0;
  return owner;
}

void FrozenPostings::settle(const Source& source) {
  if (source.counts.size() != size_t{size_.n_terms} * sizeof(uint16_t)) fail("the number of terms");
  read_terms(source);
  check_postings(source);
  for (uint32_t t = 0; t < size_.n_terms; ++t)
    if (terms()[t].n >= RankedBitmap::kShortest) rank(t);
}

// Reads the terms and the directory, and checks where each list begins and that its offsets ascend.
void FrozenPostings::read_terms(const Source& source) {
  const auto n_docs = static_cast<uint32_t>(source.length_codes.size());
  const char* const long_terms = source.long_terms.data();
  Term* const terms = to_fill(this->terms());
  uint32_t* const directory = to_fill(this->directory());
  const uint16_t* const offsets = this->offsets();
  // The entry after one with terms is first set to the number of terms up to its last one; a running maximum
  // then fills the others. A loop over the entries between two terms is as long, but its end is mispredicted.
  std::memset(directory, 0, (size_t{size_.n_terms} + kEnds) * sizeof(uint32_t));
  uint64_t first = 0, previous = 0;
  uint32_t n_bounds = 0, n_falls = 0;
  const auto add = [&](uint32_t t, uint64_t key, uint32_t term_at) {
    uint16_t count;
    std::memcpy(&count, source.counts.data() + t * sizeof count, sizeof count);
    const uint32_t n = count + 1u;
    if (n > n_docs || n > size_.n_postings - first) fail("a number of postings");
    const bool bounded = n > kMostBare;
    terms[t] = {key, static_cast<uint32_t>(first), n, term_at, bounded ? n_bounds : size_.n_bounds};
    if (bounded && n_bounds == size_.n_bounds) fail("the number of bounds");
    n_bounds += bounded ? 1 : 0;
    n_falls += first != 0 && offsets[first] <= offsets[first - 1] ? 1 : 0;
    first += n;
    directory[bucket_of(key) + 1] = t + 1;
  };
  for (uint32_t t = 0; t < size_.n_short; ++t) {
    uint64_t key;
    std::memcpy(&key, source.short_keys.data() + t * sizeof key, sizeof key);
    if (!text::is_packed(key) || !is_short_key(key)) fail("a term");
    if (t != 0 && stored_order(key) <= previous) fail("the order of terms");
    previous = stored_order(key);
    add(t, key, 0);
  }
  size_t at = 0;
  std::string_view previous_term;
  for (uint32_t t = size_.n_short; t < size_.n_terms; ++t) {
    if (at >= source.long_terms.size()) fail("a term");
    const std::string_view term = long_term(long_terms, static_cast<uint32_t>(at));
    if (term.size() <= text::kMaxPackedBytes || term.size() >= source.long_terms.size() - at) fail("a term");
    const uint64_t key = text::stored_term_key(term), order = stored_order(key);
    if (t != size_.n_short && (order < previous || (order == previous && previous_term >= term)))
      fail("the order of terms");
    previous = order;
    previous_term = term;
    add(t, key, static_cast<uint32_t>(at));
    at += 1 + term.size();
  }
  for (uint32_t bucket = 1; bucket < size_.n_terms + kEnds; ++bucket)
    directory[bucket] = std::max(directory[bucket], directory[bucket - 1]);
  if (first != size_.n_postings || at != source.long_terms.size() || n_bounds != size_.n_bounds)
    fail("the size of the terms");
  // Offsets decrease where a list begins, and nowhere else.
  for (uint32_t i = 1; i < size_.n_postings; ++i) n_falls -= offsets[i] <= offsets[i - 1] ? 1 : 0;
  if (n_falls != 0) fail("the order of a list");
}

void FrozenPostings::check_postings(const Source& source) const {
  const uint16_t* const offsets = this->offsets();
  const uint16_t* const payloads = this->payloads();
  uint16_t greatest = 0, least = 0xffff;
  for (uint32_t i = 0; i < size_.n_postings; ++i) greatest = std::max(greatest, offsets[i]);
  for (uint32_t i = 0; i < size_.n_postings; ++i) least = std::min(least, payloads[i]);
  if (greatest >= source.length_codes.size()) fail("a posting's document");
  const uint16_t* const codes = source.length_codes.data();
  uint32_t differing = payload_tf(least) == 0 ? 1 : 0;
  for (uint32_t i = 0; i < size_.n_postings; ++i)
    differing |= payload_length_code(payloads[i]) ^ codes[offsets[i]];
  if (differing != 0) fail("a posting");
  for (uint32_t i = 0; i < size_.n_bounds; ++i) {
    const Bounds& list = bounds()[i];
    if (list.ranked != 0 || payload_tf(list.greatest) == 0 || !is_shortest(list.shortest))
      fail("the bounds of a list");
  }
}

void FrozenPostings::rank(uint32_t term) {
  const List list = this->list(term);
  if (!RankedBitmap::pays(list.n, list.offsets[list.n - 1]) || ranked_.size() == 0xffff) return;
  if (ranked_.size() == ranked_.capacity()) ranked_.reserve(std::max<size_t>(16, 2 * ranked_.size()));
  RankedBitmap* ranked = RankedBitmap::make(list.offsets[list.n - 1]);
  ranked_.push_back(ranked);
  ranked->add_all(list.offsets, list.n);
  ranked_bytes_ += ranked->memory_bytes();
  to_fill(bounds())[terms()[term].bounds].ranked = static_cast<uint16_t>(ranked_.size());
}

size_t FrozenPostings::memory_bytes() const noexcept {
  return base::held_bytes(size_.bytes()) + base::held_bytes(ranked_.capacity() * sizeof(void*)) +
         ranked_bytes_;
}

bool FrozenPostings::is_before(const Term& term, uint64_t stored_key, std::string_view bytes,
                               const char* long_terms) const noexcept {
  if (term.key != stored_key) return stored_order(term.key) < stored_order(stored_key);
  return !text::is_packed(stored_key) && long_term(long_terms, term.term_at) < bytes;
}

uint32_t FrozenPostings::find(uint64_t stored_key, std::string_view term,
                              const char* long_terms) const noexcept {
  const uint32_t bucket = bucket_of(stored_key);
  uint32_t first = directory()[bucket], end = directory()[bucket + 1];
  constexpr uint32_t kFew = 8;
  if (end - first > kFew) {
    const Term* position = std::partition_point(terms() + first, terms() + end, [&](const Term& candidate) {
      return is_before(candidate, stored_key, term, long_terms);
    });
    first = static_cast<uint32_t>(position - terms());
    end = std::min(end, first + 1);
  }
  for (; first < end; ++first) {
    const Term& entry = terms()[first];
    if (entry.key == stored_key &&
        (text::is_packed(stored_key) || long_term(long_terms, entry.term_at) == term))
      return first;
  }
  return size_.n_terms;
}

FrozenPostings::List FrozenPostings::list(uint32_t term) const noexcept {
  const Term& entry = terms()[term];
  return {offsets() + entry.first, payloads() + entry.first, entry.n,
          entry.bounds < size_.n_bounds ? bounds()[entry.bounds] : Bounds()};
}

}  // namespace scrubjay::lexical
