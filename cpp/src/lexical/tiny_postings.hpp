// Tiny postings: the postings of a chunk of a few short documents, without a dictionary.
//
// Every posting in the order of writing, ten bytes each; finding a term is a scan over all of them. For some
// hundred postings that takes as long as two steps through a hash table that is not cached, and it avoids the
// slots, which for a partition of ten notes would take more memory than its texts. Keys are split, so that
// their lower halves can be compared side by side; for a long term the upper half is the offset of its bytes.
//
// One writer, any number of readers under an epoch guard. The object does not grow: the posting table
// replaces it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "base/growing.hpp"
#include "lexical/posting.hpp"

namespace scrubjay::lexical {

class TinyPostings {
 public:
  static constexpr uint32_t kDocs = 16;            // offsets are below this
  static constexpr uint32_t kMaxLengthCode = 127;  // of a document
  static constexpr uint32_t kPostings = 512;       // maximum

  [[nodiscard]] static constexpr bool fits(uint32_t offset, uint16_t payload) noexcept {
    return offset < kDocs && payload_length_code(payload) <= kMaxLengthCode;
  }

  // Allocates room for at least n postings, using the whole block of the allocator.
  [[nodiscard]] static TinyPostings* make(uint32_t n) {
    const size_t to_use = base::bytes_to_use(bytes(n));
    const auto capacity = static_cast<uint32_t>((to_use - sizeof(TinyPostings)) / kPostingBytes);
    return new (::operator new(to_use)) TinyPostings(capacity);
  }
  static void destroy(void* raw) noexcept { ::operator delete(raw); }
  [[nodiscard]] size_t held_bytes() const noexcept { return base::held_bytes(bytes(capacity_)); }

  // --- for readers -------------------------------------------------------------------------------
  [[nodiscard]] uint32_t size() const noexcept { return n_.load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t offset(uint32_t i) const noexcept { return places()[i] & 15u; }
  [[nodiscard]] uint16_t payload(uint32_t i) const noexcept {
    const uint32_t place = places()[i];
    return pack_payload((place >> 4) & 31u, place >> 9);
  }
  [[nodiscard]] bool is_long(uint32_t i) const noexcept { return highs()[i] >> 31 != 0; }
  // The key of a term of up to seven bytes.
  [[nodiscard]] uint64_t short_key(uint32_t i) const noexcept {
    return uint64_t{highs()[i]} << 32 | lows()[i];
  }
  // For a longer term: the offset of its bytes.
  [[nodiscard]] uint32_t term_at(uint32_t i) const noexcept { return highs()[i] & 0x7fffffffu; }

  // Calls visit(i) for each of the first n postings of `term`, in order, until it returns false.
  // `long_terms`: the bytes of the long terms, each after a length byte.
  template <class Visit>
  void find(uint64_t key, std::string_view term, uint32_t n, const char* long_terms, Visit&& visit) const {
    const auto low = static_cast<uint32_t>(key);
    const uint32_t* all = lows();
    uint32_t i = 0;
    constexpr uint32_t kAtOnce = 16;
    for (; i + kAtOnce <= n; i += kAtOnce) {
      uint32_t any = 0;
      for (uint32_t lane = 0; lane < kAtOnce; ++lane) any |= all[i + lane] == low ? 1u : 0u;
      if (any == 0) continue;
      for (uint32_t at = i; at < i + kAtOnce; ++at)
        if (all[at] == low && is_term(at, key, term, long_terms) && !visit(at)) return;
    }
    for (; i < n; ++i)
      if (all[i] == low && is_term(i, key, term, long_terms) && !visit(i)) return;
  }

  // --- for the writer ----------------------------------------------------------------------------
  [[nodiscard]] bool full() const noexcept { return size() == capacity_; }
  [[nodiscard]] bool holds(size_t n) const noexcept { return n <= capacity_; }
  // `at`: for a long term. Requires !full() and fits().
  void append(uint64_t key, uint32_t at, uint32_t offset, uint16_t payload) noexcept {
    const uint32_t n = size();
    lows()[n] = static_cast<uint32_t>(key);
    highs()[n] = key >> 63 != 0 ? 0x80000000u | at : static_cast<uint32_t>(key >> 32);
    places()[n] =
        static_cast<uint16_t>(offset | payload_tf(payload) << 4 | payload_length_code(payload) << 9);
    n_.store(n + 1, std::memory_order_release);
  }
  // Appends the content of another object, for which there is room.
  void append_all(const TinyPostings& from) noexcept {
    const uint32_t n = size(), n_more = from.size();
    std::copy_n(from.lows(), n_more, lows() + n);
    std::copy_n(from.highs(), n_more, highs() + n);
    std::copy_n(from.places(), n_more, places() + n);
    n_.store(n + n_more, std::memory_order_release);
  }
  // Removes a posting of the last document, which was never published: a reader that encounters the posting
  // that is moved here sees an unpublished document before and after.
  void remove(uint32_t i) noexcept {
    const uint32_t last = size() - 1;
    lows()[i] = lows()[last];
    highs()[i] = highs()[last];
    places()[i] = places()[last];
    n_.store(last, std::memory_order_release);
  }

 private:
  static constexpr size_t kPostingBytes = 2 * sizeof(uint32_t) + sizeof(uint16_t);

  explicit TinyPostings(uint32_t capacity) noexcept : capacity_(capacity) {}
  [[nodiscard]] static constexpr size_t bytes(uint32_t capacity) noexcept {
    return 2 * sizeof(uint32_t) + capacity * kPostingBytes;
  }

  [[nodiscard]] const uint32_t* lows() const noexcept { return reinterpret_cast<const uint32_t*>(this + 1); }
  [[nodiscard]] const uint32_t* highs() const noexcept { return lows() + capacity_; }
  [[nodiscard]] const uint16_t* places() const noexcept {
    return reinterpret_cast<const uint16_t*>(highs() + capacity_);
  }
  [[nodiscard]] uint32_t* lows() noexcept { return reinterpret_cast<uint32_t*>(this + 1); }
  [[nodiscard]] uint32_t* highs() noexcept { return lows() + capacity_; }
  [[nodiscard]] uint16_t* places() noexcept { return reinterpret_cast<uint16_t*>(highs() + capacity_); }

  [[nodiscard]] bool is_term(uint32_t i, uint64_t key, std::string_view term,
                             const char* long_terms) const noexcept {
    if (key >> 63 == 0) return highs()[i] == static_cast<uint32_t>(key >> 32);
    if (!is_long(i)) return false;
    const char* at = long_terms + term_at(i);
    return std::string_view(at + 1, static_cast<unsigned char>(*at)) == term;
  }

  const uint32_t capacity_;
  std::atomic<uint32_t> n_{0};
};
static_assert(sizeof(TinyPostings) == 2 * sizeof(uint32_t));

}  // namespace scrubjay::lexical
