// Term prefixes: may a term of a dictionary begin with these letters?
//
// A Bloom filter of the first three to eight bytes of each term, two bits of one word for each. A prefix that it does
// not hold begins no term; one in some fifty of the others is held by chance. The spelling of a query asks it, so that
// most words at one edit from an unknown one are neither stemmed nor looked up (engine/spelling.hpp).
//
// Of very long words it also has every eight bytes that stand together, so that most words of a query that are in none
// of these are not searched for among all terms.
//
// Any number of threads may add and ask: bits are only ever set.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/epoch.hpp"
#include "base/hash.hpp"
#include "lexical/term_letters.hpp"

namespace scrubjay::lexical {

class TermPrefixes {
 public:
  static constexpr size_t kLeast = 3, kMost = 8;  // bytes of a prefix

  // Room for that many terms; more are held, but then more prefixes by chance. May throw std::bad_alloc.
  explicit TermPrefixes(size_t n_terms)
      : n_words_(std::max<size_t>(4, n_terms * kBitsATerm / 64)),
        room_(n_terms),
        words_(new std::atomic<uint64_t>[n_words_]) {
    clear();
  }
  ~TermPrefixes() { delete letters_.load(std::memory_order_relaxed); }
  TermPrefixes(const TermPrefixes&) = delete;
  TermPrefixes& operator=(const TermPrefixes&) = delete;

  void clear() noexcept {
    for (size_t i = 0; i < n_words_; ++i) words_[i].store(0, std::memory_order_relaxed);
    n_terms_.store(0, std::memory_order_relaxed);
  }

  // A term of n bytes. `bytes` holds its first kMost, the first in the lowest byte, padded with zeros.
  void add(uint64_t bytes, size_t n) noexcept {
    for (size_t length = kLeast; length <= std::min(n, kMost); ++length) {
      set(beginning(bytes, length));
    }
    n_terms_.fetch_add(1, std::memory_order_relaxed);
  }

  // Every kMost bytes of a term that stand together.
  void add_inside(std::string_view term) noexcept {
    for (size_t at = 0; at + kMost <= term.size(); ++at)
      set(inside(base::load_bytes(term.data() + at, kMost)));
  }
  // Of a word of kMost bytes or more: whether it may stand in a term that add_inside() was told of.
  [[nodiscard]] bool may_be_inside(std::string_view word) const noexcept {
    return may_hold(inside(base::load_bytes(word.data(), kMost)));
  }

  // `bytes` as above, from kLeast to kMost of them.
  [[nodiscard]] bool may_hold(uint64_t bytes) const noexcept {
    const Place place = place_of(bytes);
    return (words_[place.word].load(std::memory_order_relaxed) & place.bits) == place.bits;
  }

  // The first `length` of some bytes.
  [[nodiscard]] static constexpr uint64_t beginning(uint64_t bytes, size_t length) noexcept {
    return length >= kMost ? bytes : bytes & ((uint64_t{1} << (8 * length)) - 1);
  }

  // Whether it has all terms of a dictionary, which says so once it has looked at them.
  [[nodiscard]] bool complete() const noexcept { return complete_.load(std::memory_order_acquire); }
  void set_complete() noexcept { complete_.store(true, std::memory_order_release); }
  [[nodiscard]] bool full() const noexcept { return n_terms_.load(std::memory_order_relaxed) > room_; }
  // Which of the terms hold some letters, if a reader asked for that yet. Under an epoch guard.
  [[nodiscard]] const TermLetters* letters() const noexcept {
    return letters_.load(std::memory_order_acquire);
  }
  // Takes the place of one that was made of fewer bytes. Returns the one that is there then.
  const TermLetters* keep(std::unique_ptr<TermLetters> made) const noexcept {
    TermLetters* known = letters_.load(std::memory_order_acquire);
    while (!known || known->n_bytes() < made->n_bytes()) {
      if (!letters_.compare_exchange_weak(known, made.get(), std::memory_order_acq_rel)) continue;
      base::retire(std::unique_ptr<TermLetters>(known));
      return made.release();
    }
    return known;
  }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    const TermLetters* known = letters();
    return sizeof(*this) + n_words_ * sizeof(uint64_t) + (known ? known->memory_bytes() : 0);
  }

 private:
  static constexpr size_t kBitsATerm = 48;  // sixteen for each of about three prefixes that no other term has

  struct Place {
    size_t word;
    uint64_t bits;
  };
  // Another value than that of the same bytes as a prefix.
  [[nodiscard]] static constexpr uint64_t inside(uint64_t bytes) noexcept { return ~bytes; }
  void set(uint64_t bytes) noexcept {
    const Place place = place_of(bytes);
    std::atomic<uint64_t>& word = words_[place.word];
    // Mostly there already, and a locked instruction costs more than a look.
    if ((word.load(std::memory_order_relaxed) & place.bits) != place.bits)
      word.fetch_or(place.bits, std::memory_order_relaxed);
  }
  [[nodiscard]] Place place_of(uint64_t prefix) const noexcept {
    const uint64_t first = prefix * 0x9e3779b97f4a7c15ull;
    const uint64_t mixed = (first ^ (first >> 32)) * 0xd6e8feb86659fd93ull;
    return {static_cast<size_t>(((mixed >> 32) * n_words_) >> 32),
            (uint64_t{1} << (mixed & 63)) | (uint64_t{1} << ((mixed >> 6) & 63))};
  }

  const size_t n_words_, room_;
  const std::unique_ptr<std::atomic<uint64_t>[]> words_;
  std::atomic<size_t> n_terms_{0};
  std::atomic<bool> complete_{false};
  mutable std::atomic<TermLetters*> letters_{nullptr};
};

}  // namespace scrubjay::lexical
