// Term starts: the terms of a dictionary by first letter, to compare all that begin like a word with it.
//
// Terms of 4 to 48 letters a to z only. One array per first letter, with the set of letters of each term, so
// that a comparison starts with those that have nearly no other letters than the word (text/two_edits.hpp).
// 12 bytes per term and as many bytes of room for half as many. If a letter has no room left, the list is
// incomplete for good: overflown().
//
// Any number of threads may add and visit. A term may be in it twice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/access.hpp"

namespace scrubjay::lexical {

class TermStarts {
 public:
  static constexpr size_t kLeast = 4, kMost = 48;  // letters of a term
  static constexpr size_t kLetters = 26;
  using Counts = std::array<uint32_t, kLetters>;  // per first letter

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
    names_ = std::make_unique<std::atomic<uint64_t>[]>(n);
  }

  // Adds a term; `name` identifies it to the dictionary.
  template <base::Access access>
  void add(std::string_view term, uint64_t name) noexcept {
    const uint32_t letters = letters_of(term);
    if (letters == 0) return;
    const auto first = static_cast<size_t>(term.front() - 'a');
    const uint32_t at = begins_[first] + base::fetch_add<access>(used_[first], uint32_t{1});
    if (at >= begins_[first + 1]) {
      used_[first].fetch_sub(1, std::memory_order_relaxed);
      overflown_.store(true, std::memory_order_release);
      return;
    }
    names_[at].store(name, std::memory_order_relaxed);
    letters_[at].store(letters, std::memory_order_release);
  }
  [[nodiscard]] bool overflown() const noexcept { return overflown_.load(std::memory_order_acquire); }

  // Calls visit(name) for the terms that begin with the letter and have at most `n_others` letters outside
  // `letters`.
  template <class Visit>
  void visit(char first, uint32_t letters, int n_others, Visit&& visit) const {
    const auto group = static_cast<size_t>(first - 'a');
    for (uint32_t at = begins_[group]; at < begins_[group + 1]; ++at) {
      const uint32_t of_term = letters_[at].load(std::memory_order_acquire);
      uint32_t others = of_term & ~letters;
      for (int n = n_others; n > 0; --n)
        others &= others - 1;  // popcount() is a call without its instruction
      if (others != 0) continue;
      if (of_term != 0) {
        visit(names_[at].load(std::memory_order_relaxed));
      } else if (at >= begins_[group] + used_[group].load(std::memory_order_relaxed)) {
        break;  // otherwise it is not added yet
      }
    }
  }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return sizeof(*this) + begins_[kLetters] * (sizeof(uint32_t) + sizeof(uint64_t));
  }

 private:
  static constexpr uint32_t kFew = 8;

  std::array<uint32_t, kLetters + 1> begins_;
  std::array<std::atomic<uint32_t>, kLetters> used_{};
  std::unique_ptr<std::atomic<uint32_t>[]> letters_;  // zero: not added
  std::unique_ptr<std::atomic<uint64_t>[]> names_;
  std::atomic<bool> overflown_{false};
};

}  // namespace scrubjay::lexical
