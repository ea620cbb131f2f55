// Term starts: the terms of a dictionary by first letter, to find those near a word (text/two_edits.hpp).
//
// Terms of 4 to 48 letters a to z only. One array per first letter, with the set of letters of each term: those
// with nearly no other letters than the word are compared with it by their first seven, 16 at a time, and few
// are left to be read. 12 bytes per term and as many bytes of room for half as many. If a letter has no room
// left, the list is incomplete for good: overflown().
//
// Any number of threads may add and visit. A term may be in it twice.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/access.hpp"
#include "simd/kernels.hpp"
#include "text/two_edits.hpp"

namespace scrubjay::lexical {

class TermStarts {
 public:
  static constexpr size_t kLeast = 4, kMost = 48;  // letters of a term
  static constexpr size_t kLetters = 26;
  using Counts = std::array<uint32_t, kLetters>;  // per first letter

  // A term without its first letter: the next six letters, and its length if it has no more, otherwise its place
  // in the dictionary.
  class Start {
   public:
    static constexpr size_t kMostShort = 7;  // letters of a term that needs no place
    using Letters = std::array<char, kMostShort>;

    Start(std::string_view term, uint32_t at) noexcept
        : bits_(term.size() > kMostShort ? kLong | at : uint64_t{term.size()}) {
      for (size_t i = 1; i < std::min(term.size(), kMostShort); ++i)
        bits_ |= static_cast<uint64_t>(term[i] - 'a' + 1) << (kLettersAt + kBits * (i - 1));
    }
    explicit Start(uint64_t bits) noexcept : bits_(bits) {}
    [[nodiscard]] uint64_t bits() const noexcept { return bits_; }

    [[nodiscard]] bool is_long() const noexcept { return (bits_ & kLong) != 0; }
    [[nodiscard]] uint32_t term_at() const noexcept { return static_cast<uint32_t>(bits_); }
    // Of five bits each, 1 = a, the first in the lowest; 0 behind the last one.
    [[nodiscard]] uint32_t letters() const noexcept {
      return static_cast<uint32_t>(bits_ >> kLettersAt) & ((1u << kLettersBits) - 1);
    }
    // The term, if it is short.
    [[nodiscard]] std::string_view term(char first, Letters& buffer) const noexcept {
      buffer[0] = first;
      for (unsigned i = 1; i < kMostShort; ++i)
        buffer[i] = static_cast<char>('a' - 1 + (letters() >> (kBits * (i - 1)) & ((1u << kBits) - 1)));
      return {buffer.data(), static_cast<size_t>(bits_ & 0xff)};
    }

   private:
    static constexpr unsigned kBits = 5, kLettersAt = 32, kLettersBits = 30;
    static constexpr uint64_t kLong = uint64_t{1} << 63;

    uint64_t bits_;
  };

  // The letters of a term, lowest bit: a. Zero if it is not of the terms above.
  [[nodiscard]] static uint32_t letters_of(std::string_view term) noexcept {
    if (term.size() < kLeast || term.size() > kMost) return 0;
    uint32_t letters = 0;
    for (const char c : term) {
      if (c < 'a' || c > 'z') return 0;
      letters |= uint32_t{1} << (c - 'a');
    }
    return letters;
  }

  // Room for half as many more than `counts`. May throw std::bad_alloc.
  explicit TermStarts(const Counts& counts) {
    uint32_t n = 0;
    for (size_t i = 0; i < kLetters; ++i) {
      begins_[i] = n;
      n += counts[i] + counts[i] / 2 + kFew;
    }
    begins_[kLetters] = n;
    letters_ = std::make_unique<std::atomic<uint32_t>[]>(n);
    starts_ = std::make_unique<std::atomic<uint64_t>[]>(n);
  }

  // Ignores other terms than those above. `term_at`: its place in the dictionary, if it is long.
  template <base::Access access>
  void add(std::string_view term, uint32_t term_at) noexcept {
    const uint32_t letters = letters_of(term);
    if (letters == 0) return;
    const auto first = static_cast<size_t>(term.front() - 'a');
    const uint32_t at = begins_[first] + base::fetch_add<access>(used_[first], uint32_t{1});
    if (at >= begins_[first + 1]) {
      used_[first].fetch_sub(1, std::memory_order_relaxed);
      overflown_.store(true, std::memory_order_release);
      return;
    }
    starts_[at].store(Start(term, term_at).bits(), std::memory_order_relaxed);
    letters_[at].store(letters, std::memory_order_release);
  }
  [[nodiscard]] bool overflown() const noexcept { return overflown_.load(std::memory_order_acquire); }

  // Calls visit(start) for all terms that the word may mean, and for some others with its first letter.
  template <class Visit>
  void visit_near(const text::TwoEdits& word, Visit&& visit) const {
    static_assert(text::TwoEdits::kMostOtherLetters == 2);  // as the kernel
    constexpr size_t kAtOnce = 64;
    const simd::Kernels& kernels = simd::kernels();
    const auto group = static_cast<size_t>(word.first() - 'a');
    const std::array<uint32_t, 32> places = word.places();
    // Terms with nearly no other letters, waiting until there are enough of them.
    std::array<uint64_t, kAtOnce> waiting;
    std::array<uint32_t, kAtOnce> letters{};
    size_t n_waiting = 0;
    const auto compare = [&] {
      uint64_t near =
          kernels.near_beginnings(letters.data(), n_waiting, static_cast<uint32_t>(group + 1), places.data());
      if (n_waiting < kAtOnce) near &= (uint64_t{1} << n_waiting) - 1;
      for (; near != 0; near &= near - 1) visit(Start(waiting[static_cast<size_t>(std::countr_zero(near))]));
      n_waiting = 0;
    };
    const uint32_t end =
        std::min(begins_[group + 1], begins_[group] + used_[group].load(std::memory_order_acquire));
    for (uint32_t from = begins_[group]; from < end; from += kAtOnce) {
      std::array<uint32_t, kAtOnce> sets;
      const size_t n = std::min<size_t>(kAtOnce, end - from);
      for (size_t i = 0; i < n; ++i) sets[i] = letters_[from + i].load(std::memory_order_acquire);
      uint64_t few = kernels.few_others(sets.data(), n, word.letters());
      if (n < kAtOnce) few &= (uint64_t{1} << n) - 1;
      for (; few != 0; few &= few - 1) {
        const uint32_t at = from + static_cast<uint32_t>(std::countr_zero(few));
        waiting[n_waiting] = starts_[at].load(std::memory_order_relaxed);
        letters[n_waiting] = Start(waiting[n_waiting]).letters();
        if (++n_waiting == kAtOnce) compare();
      }
    }
    compare();
  }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return sizeof(*this) + begins_[kLetters] * (sizeof(uint32_t) + sizeof(uint64_t));
  }

 private:
  static constexpr uint32_t kFew = 8;

  std::array<uint32_t, kLetters + 1> begins_;
  std::array<std::atomic<uint32_t>, kLetters> used_{};
  std::unique_ptr<std::atomic<uint32_t>[]> letters_;  // zero: not added
  std::unique_ptr<std::atomic<uint64_t>[]> starts_;
  std::atomic<bool> overflown_{false};
};

}  // namespace scrubjay::lexical
