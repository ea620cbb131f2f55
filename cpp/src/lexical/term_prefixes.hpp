// Term prefixes: a filter for the prefixes of the terms of a dictionary.
//
// A Bloom filter of the first three to eight bytes of each term, and of the whole terms, with two bits in one
// word for each. A prefix that is not in the filter begins no term; the false positive rate is about one in
// fifty. With it, spelling correction neither stems nor looks up most words at edit distance one from an
// unknown word (engine/spelling.hpp). The word depends on all bytes of a prefix except the last one: one word
// answers for all letters that may follow a prefix.
//
// The prefixes of four bytes have an eighth of the words to themselves. Each is stored once for each of its
// positions, in a word that depends on the three other bytes: one word tells which letters may stand between them.
//
// For very long terms the filter also contains every eight adjacent bytes, so that most query words that are
// in none of them are not searched for among all terms.
//
// Any number of threads may add and query: bits are only ever set.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/access.hpp"
#include "base/epoch.hpp"
#include "base/hash.hpp"
#include "lexical/term_letters.hpp"
#include "lexical/term_starts.hpp"

namespace scrubjay::lexical {

class TermPrefixes {
 public:
  static constexpr size_t kLeast = 3, kMost = 8;  // bytes of a prefix
  static constexpr uint32_t kLetters = 26, kAllLetters = (1u << kLetters) - 1;

  // Sized for that many terms; more can be added, with more false positives. `starts`: the list of the terms,
  // if there is one, is filled and dropped along with the filter. May throw std::bad_alloc.
  explicit TermPrefixes(size_t n_terms, std::unique_ptr<TermStarts> starts = nullptr)
      : n_words_(std::max<size_t>(kLeastWords, n_terms * kBitsATerm / 64)),
        n_of_fours_(n_words_ / kShareOfFours),
        room_(n_terms),
        words_(new std::atomic<uint64_t>[n_words_]),
        starts_(std::move(starts)) {
    clear();
  }
  ~TermPrefixes() { delete letters_.load(std::memory_order_relaxed); }
  TermPrefixes(const TermPrefixes&) = delete;
  TermPrefixes& operator=(const TermPrefixes&) = delete;

  void clear() noexcept {
    for (size_t i = 0; i < n_words_; ++i) words_[i].store(0, std::memory_order_relaxed);
    n_terms_.store(0, std::memory_order_relaxed);
  }

  // Adds the prefixes of a term of n bytes. `bytes` holds its first kMost bytes, the first in the lowest
  // byte, padded with zeros.
  template <base::Access access = base::Access::shared>
  void add(uint64_t bytes, size_t n) noexcept {
    for (size_t length = kLeast; length <= std::min(n, kMost); ++length)
      if (length != kFour) set<access>(place_of(beginning(bytes, length)));
    for (size_t at = 0; n >= kFour && at < kFour; ++at)
      set<access>(place_in_four(beginning(bytes, kFour), at));
    (void)base::fetch_add<access>(n_terms_, size_t{1});
  }

  // Adds the whole term with this key (text/term_key.hpp).
  template <base::Access access = base::Access::shared>
  void add_term(uint64_t key) noexcept {
    set<access>(place_of_term(key));
  }
  [[nodiscard]] bool may_hold_term(uint64_t key) const noexcept { return has(place_of_term(key)); }
  // Prefetches for may_hold_term().
  void prefetch_term(uint64_t key) const noexcept { __builtin_prefetch(&words_[place_of_term(key).word]); }

  // Adds every kMost adjacent bytes of a term.
  template <base::Access access = base::Access::shared>
  void add_inside(std::string_view term) noexcept {
    for (size_t at = 0; at + kMost <= term.size(); ++at)
      set<access>(place_of(inside(base::load_bytes(term.data() + at, kMost))));
  }
  // Whether a word of kMost bytes or more may be inside a term that was passed to add_inside().
  [[nodiscard]] bool may_be_inside(std::string_view word) const noexcept {
    return may_hold(inside(base::load_bytes(word.data(), kMost)));
  }

  // `bytes` as in add(), kLeast to kMost of them.
  [[nodiscard]] bool may_hold(uint64_t bytes) const noexcept { return has(place_of(bytes)); }

  // Returns the letters (lowest bit: a) that may follow `bytes`, kLeast - 1 to kMost - 1 of them with zeros
  // above, according to may_hold(). Reads one word.
  [[nodiscard]] uint32_t letters_behind(uint64_t bytes) const noexcept {
    const uint64_t hash = mixed(bytes);
    const bool of_three = bytes >> (8 * (kFour - 1)) == 0 && bytes >> (8 * (kFour - 2)) != 0;
    return letters_in(of_three ? word_of_four(hash) : word_of(hash), hash);
  }
  // Returns those of `letters` for which may_hold() the bytes with the letter at position `place`, which
  // holds zero; or fewer, if four-byte prefixes exclude more.
  [[nodiscard]] uint32_t letters_at(size_t place, uint64_t bytes, uint32_t letters) const noexcept {
    if (place < kFour && bytes >> (8 * (kFour - 1)) != 0) {
      const uint64_t hash = mixed(beginning(bytes, kFour));
      letters &= letters_in(word_of_four(hash), hash);
    }
    uint32_t found = 0;
    for (; letters != 0; letters &= letters - 1) {  // without other branches, so that the loads overlap
      const auto letter = static_cast<uint32_t>(std::countr_zero(letters));
      found |= uint32_t{may_hold(bytes | uint64_t{'a' + letter} << (8 * place))} << letter;
    }
    return found;
  }

  // The first `length` of the bytes.
  [[nodiscard]] static constexpr uint64_t beginning(uint64_t bytes, size_t length) noexcept {
    return length >= kMost ? bytes : bytes & ((uint64_t{1} << (8 * length)) - 1);
  }

  // Whether it has all terms of a dictionary, which sets this after adding them.
  [[nodiscard]] bool complete() const noexcept { return complete_.load(std::memory_order_acquire); }
  void set_complete() noexcept { complete_.store(true, std::memory_order_release); }
  [[nodiscard]] bool full() const noexcept {
    return n_terms_.load(std::memory_order_relaxed) > room_ || (starts_ && starts_->overflown());
  }
  [[nodiscard]] TermStarts* starts() noexcept { return starts_.get(); }
  [[nodiscard]] const TermStarts* starts() const noexcept { return starts_.get(); }
  // The index of the terms by letters, if a reader has requested it. Under an epoch guard.
  [[nodiscard]] const TermLetters* letters() const noexcept {
    return letters_.load(std::memory_order_acquire);
  }
  // Replaces an index that was built from fewer bytes. Returns the current index.
  const TermLetters* keep(std::unique_ptr<TermLetters> index) const noexcept {
    TermLetters* current = letters_.load(std::memory_order_acquire);
    while (!current || current->n_bytes() < index->n_bytes()) {
      if (!letters_.compare_exchange_weak(current, index.get(), std::memory_order_acq_rel)) continue;
      base::retire(std::unique_ptr<TermLetters>(current));
      return index.release();
    }
    return current;
  }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    const TermLetters* index = letters();
    return sizeof(*this) + n_words_ * sizeof(uint64_t) + (index ? index->memory_bytes() : 0) +
           (starts_ ? starts_->memory_bytes() : 0);
  }

 private:
  // Sixteen bits for each of about three prefixes that no other term has, and for the term itself.
  static constexpr size_t kBitsATerm = 64;
  static constexpr size_t kFour = 4, kShareOfFours = 8, kLeastWords = 2 * kShareOfFours;

  struct Place {
    size_t word;
    uint64_t bits;
  };
  // A value distinct from that of the same bytes as a prefix.
  [[nodiscard]] static constexpr uint64_t inside(uint64_t bytes) noexcept { return ~bytes; }
  // The letters whose bits are set in a word, for the other bytes with this hash.
  [[nodiscard]] uint32_t letters_in(size_t word_at, uint64_t hash) const noexcept {
    const uint64_t word = words_[word_at].load(std::memory_order_relaxed);
    const auto from_a = [&](uint64_t place) { return std::rotr(word, static_cast<int>((place + 'a') & 63)); };
    return static_cast<uint32_t>(from_a(hash) & from_a(hash >> 6)) & kAllLetters;
  }
  [[nodiscard]] bool has(const Place& place) const noexcept {
    return (words_[place.word].load(std::memory_order_relaxed) & place.bits) == place.bits;
  }
  template <base::Access access>
  void set(const Place& place) noexcept {
    std::atomic<uint64_t>& word = words_[place.word];
    const uint64_t before = word.load(std::memory_order_relaxed);
    if constexpr (access == base::Access::alone) {
      word.store(before | place.bits, std::memory_order_relaxed);
    } else if ((before & place.bits) != place.bits) {  // usually set; a locked instruction costs more
      word.fetch_or(place.bits, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] static constexpr uint64_t mixed(uint64_t bytes) noexcept {
    const uint64_t first = bytes * 0x9e3779b97f4a7c15ull;
    return (first ^ (first >> 32)) * 0xd6e8feb86659fd93ull;
  }
  [[nodiscard]] size_t word_of(uint64_t mixed) const noexcept {
    return n_of_fours_ + scaled(mixed, n_words_ - n_of_fours_);
  }
  [[nodiscard]] size_t word_of_four(uint64_t mixed) const noexcept { return scaled(mixed, n_of_fours_); }
  [[nodiscard]] static size_t scaled(uint64_t mixed, size_t n) noexcept {
    return static_cast<size_t>(((mixed >> 32) * n) >> 32);
  }
  [[nodiscard]] Place place_of(uint64_t prefix) const noexcept {
    const auto shift = static_cast<unsigned>(std::bit_width(prefix | 1) - 1) / 8 * 8;  // last byte
    const uint64_t last = prefix >> shift, hash = mixed(prefix ^ (last << shift));
    return {shift == 8 * (kFour - 1) ? word_of_four(hash) : word_of(hash), bits_of(hash, last)};
  }
  // Of a prefix of four bytes, by those that are not at position `at`.
  [[nodiscard]] Place place_in_four(uint64_t prefix, size_t at) const noexcept {
    const uint64_t letter = prefix >> (8 * at) & 0xff, hash = mixed(prefix ^ (letter << (8 * at)));
    return {word_of_four(hash), bits_of(hash, letter)};
  }
  // Neighbouring letters have neighbouring bits, so that the bits of all letters are taken at once.
  [[nodiscard]] static uint64_t bits_of(uint64_t hash, uint64_t letter) noexcept {
    return (uint64_t{1} << ((hash + letter) & 63)) | (uint64_t{1} << (((hash >> 6) + letter) & 63));
  }
  [[nodiscard]] Place place_of_term(uint64_t key) const noexcept {
    const uint64_t hash = mixed(key ^ 0x5851f42d4c957f2dull);
    return {word_of(hash), (uint64_t{1} << (hash & 63)) | (uint64_t{1} << ((hash >> 6) & 63))};
  }

  const size_t n_words_, n_of_fours_, room_;
  const std::unique_ptr<std::atomic<uint64_t>[]> words_;
  const std::unique_ptr<TermStarts> starts_;
  std::atomic<size_t> n_terms_{0};
  std::atomic<bool> complete_{false};
  mutable std::atomic<TermLetters*> letters_{nullptr};
};

}  // namespace scrubjay::lexical
