// Plausible edits: the words at edit distance one whose terms may begin like some known term.
//
// Same as visit_edits() (spelling.hpp), without the words that cannot have a known term: of hundreds of words
// at edit distance one from an unknown word, a few dozen remain. No edit is examined by itself. What endings
// leave of the word before an edit and reach in the word after it is computed once; an edit whose unchanged
// beginning is longer than any beginning of a known term is plausible only if an ending across it removes
// enough (kept_letters.hpp), and this is decided for all 26 letters at a position together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "text/kept_letters.hpp"

namespace scrubjay::text {

class PlausibleEdits {
 public:
  static constexpr size_t kMostBytes = kMostKeptBytes - 1;  // of a word

  // `word`: at most kMostBytes lower-case ASCII letters. `stems`: terms are stems; otherwise they are the
  // words themselves.
  PlausibleEdits(std::string_view word, bool stems) noexcept : word_(word), stems_(stems) {
    const size_t n = word.size();
    for (size_t at = 0; at <= n; ++at) kept_[at] = static_cast<uint8_t>(at);
    for (size_t at = 2; stems && at <= n; ++at) {
      const uint64_t before = word_.before(at);
      for (const Ending& ending : endings_of(before)) {
        if (ending.n_changed < at && matches(before, ending, ending.n))
          kept_[at] = std::min(kept_[at], kept_[at - ending.n_changed]);
      }
    }
    find_reached();
  }

  // prefixes.may_hold(bytes): whether some known term begins with these 3 to 8 bytes, the first in the lowest
  // byte, zeros above; prefixes.letters_behind(bytes) and prefixes.letters_at(place, bytes, letters): the
  // same for each letter after them or at one position of them (lexical/term_prefixes.hpp). Calls visit(edit,
  // is_term) with the edit and whether it is certainly its own term. Some edits are visited twice; no edit
  // with a known term is left out.
  template <class Prefixes, class Visit>
  void visit(const Prefixes& prefixes, Visit&& visit) {
    const std::string_view word = word_.view();
    const size_t n = word.size();
    find_beginnings(prefixes);
    for (size_t i = 0; i < n; ++i) {  // deletions
      if (n == 1 || !may_begin(i)) continue;
      PaddedWord edit(word.substr(0, i));
      std::memcpy(edit.letters() + i, word.data() + i + 1, n - i - 1);
      edit.resize(n - 1);
      visit_one(edit, i, i + 1, prefixes, visit);
    }
    for (size_t i = 0; i + 1 < n; ++i) {  // transpositions
      if (word[i] == word[i + 1] || !may_begin(i)) continue;
      PaddedWord edit = word_;
      std::swap(edit.letters()[i], edit.letters()[i + 1]);
      visit_one(edit, i, i + 2, prefixes, visit);
    }
    for (size_t i = 0; i < n; ++i)  // substitutions
      if (may_begin(i)) visit_letters(i, i + 1, prefixes, visit);
    for (size_t i = 0; i <= n; ++i)  // insertions
      if (may_begin(i)) visit_letters(i, i, prefixes, visit);
  }

 private:
  static constexpr size_t kLeast = 3, kMost = 8;  // bytes per lookup
  static constexpr size_t kLongestEnding = 7;
  static constexpr uint32_t kAnyLetter = (uint32_t{1} << 26) - 1;

  [[nodiscard]] static uint64_t mask(size_t n_bytes) noexcept {
    return n_bytes >= kMost ? ~uint64_t{0} : (uint64_t{1} << (8 * n_bytes)) - 1;
  }
  // Whether the last n letters of the ending are the last ones of `before`.
  [[nodiscard]] static bool matches(uint64_t before, const Ending& ending, size_t n) noexcept {
    return (before ^ ending.letters) >> (64 - 8 * n) == 0;
  }

  void find_reached() noexcept {
    const size_t n = word_.size();
    // For each position that a chain of endings may reach: the greatest tail such that some chain lies
    // entirely at or after it; -1: not reached.
    std::array<int8_t, kMostKeptBytes + 1> tail_of;
    tail_of.fill(-1);
    tail_of[n] = static_cast<int8_t>(n);
    for (size_t at = n; at > 0; --at) {
      if (tail_of[at] < 0) continue;
      reached_[static_cast<size_t>(tail_of[at])] |= uint32_t{1} << at;
      const uint64_t before = word_.before(at);
      if (!stems_) break;
      for (const Ending& ending : endings_of(before)) {
        if (!matches(before, ending, ending.n)) continue;
        int8_t& to = tail_of[at - ending.n_changed];
        to = std::max(to, std::min(tail_of[at], static_cast<int8_t>(static_cast<int>(at) - ending.n)));
      }
    }
    if (tail_of[0] >= 0) reached_[0] |= 1;
    for (size_t tail = n; tail > 0; --tail) reached_[tail - 1] |= reached_[tail];
  }

  // Finds how many first letters of the word some known term may begin with.
  template <class Prefixes>
  void find_beginnings(const Prefixes& prefixes) {
    const std::string_view word = word_.view();
    const size_t n = word.size();
    behind_.fill(kAnyLetter);
    bool begins = true;  // whether a known term may begin like the word so far
    size_t n_known = kLeast - 1;
    for (size_t head = kLeast - 1; head <= std::min(n, kMost - 1); ++head) {
      behind_[head] = begins ? prefixes.letters_behind(word_.beginning() & mask(head)) : 0;
      begins = head < n && (behind_[head] >> (word[head] - 'a') & 1) != 0;
      if (begins) n_known = head + 1;
    }
    if (n_known == kMost) n_known = kMostKeptBytes;  // longer beginnings are not known
    known_ = 0;
    for (size_t at = 0; at <= n; ++at) known_ |= uint32_t{kept_[at] <= n_known} << at;
  }

  // Whether a known term may begin with what is kept of the word before position `at` (at most there).
  [[nodiscard]] bool is_known_before(size_t at) const noexcept { return (known_ >> at & 1) != 0; }
  // Whether an edit at this position may be plausible: the word up to there, or what some ending leaves of
  // it, is the beginning of a known term.
  [[nodiscard]] bool may_begin(size_t head) const noexcept {
    const size_t first = head < kLongestEnding ? 0 : head - (kLongestEnding - 1);
    return (known_ >> first & ((uint32_t{2} << (head - first)) - 1)) != 0;
  }

  // Visits the edit, which is the word up to `head`, some letters, and the word from `tail` on, if a known
  // term may begin like it.
  template <class Prefixes, class Visit>
  void visit_one(const PaddedWord& edit, size_t head, size_t tail, const Prefixes& prefixes,
                 Visit&& visit) const {
    const size_t n_kept = stems_ ? kept_of(edit, head, tail) : edit.size();
    if (n_kept >= kLeast && !prefixes.may_hold(edit.beginning() & mask(n_kept))) return;
    visit(edit.view(), n_kept == edit.size());
  }

  // Same as kept_letters(edit).
  [[nodiscard]] size_t kept_of(const PaddedWord& edit, size_t head, size_t tail) const noexcept {
    const size_t n = edit.size(), tail_there = n - (word_.size() - tail);
    const uint32_t from_tail = reached_[tail] >> tail << tail_there;
    uint32_t reached = from_tail;
    size_t n_kept = n;
    for (size_t at = std::min(n, tail_there + kLongestEnding - 1); at > head; --at) {
      if ((reached >> at & 1) == 0) continue;
      const bool only_across = (from_tail >> at & 1) != 0;  // the others are in from_tail already
      const uint64_t before = edit.before(at);
      for (const Ending& ending : endings_of(before)) {
        if (only_across && ending.n <= at - tail_there) continue;
        if (ending.n_changed >= at || !matches(before, ending, ending.n)) continue;
        const size_t to = at - ending.n_changed;
        if (to > head) {
          reached |= uint32_t{1} << to;
        } else {
          n_kept = std::min<size_t>(n_kept, kept_[to]);
        }
      }
    }
    if (const uint32_t behind = reached >> (head + 1); behind != 0)
      n_kept = std::min(n_kept, head + 1 + static_cast<size_t>(std::countr_zero(behind)));
    if ((reached >> head & 1) != 0) n_kept = std::min<size_t>(n_kept, kept_[head]);
    return n_kept;
  }

  // Visits the word up to `head`, any letter (except the original one), and the word from `tail` on.
  template <class Prefixes, class Visit>
  void visit_letters(size_t head, size_t tail, const Prefixes& prefixes, Visit&& visit) const {
    const std::string_view word = word_.view();
    PaddedWord edit(word.substr(0, head));
    std::memcpy(edit.letters() + head + 1, word.data() + tail, word.size() - tail);
    edit.resize(head + 1 + word.size() - tail);
    // Number of letters of the stem that are known if no ending covers the letter.
    const size_t n_kept = head + 1 + static_cast<size_t>(std::countr_zero(reached_[tail] >> tail));
    const Across across = stems_ ? letters_of_endings(head, tail) : Across{0, 0};
    const uint64_t around = edit.beginning() & mask(n_kept);  // without the letter
    uint32_t letters = kAnyLetter;
    if (n_kept >= kLeast && head < kMost) {
      letters = behind_[head];
      if (n_kept != head + 1 && head + 1 != kMost) letters = prefixes.letters_at(head, around, letters);
    } else if (n_kept >= kLeast && !prefixes.may_hold(around)) {
      letters = 0;
    }
    letters |= across.plausible;
    if (tail != head) letters &= ~(uint32_t{1} << (word[head] - 'a'));
    for (; letters != 0; letters &= letters - 1) {
      const auto letter = static_cast<unsigned>(std::countr_zero(letters));
      edit.letters()[head] = static_cast<char>('a' + letter);
      visit(edit.view(), n_kept == edit.size() && (across.any >> letter & 1) == 0);
    }
  }

  // The letters that complete an ending together with their neighbours, and those of them with which a known
  // term may begin like what such endings leave of the word.
  struct Across {
    uint32_t any, plausible;
  };
  [[nodiscard]] Across letters_of_endings(size_t head, size_t tail) const noexcept {
    const uint32_t behind = head < kMost ? behind_[head] : is_known_before(head) ? kAnyLetter : 0;
    Across across{0, 0};
    // The letters with which a chain of endings reaches each position from the tail on.
    std::array<uint32_t, kLongestEnding> letters_at{};
    const size_t n_behind = std::min(word_.size() - tail, kLongestEnding - 1);
    for (size_t i = 0; i <= n_behind; ++i)
      letters_at[i] = (reached_[tail] >> (tail + i) & 1) != 0 ? kAnyLetter : 0;
    const uint64_t before_letter = word_.before(head);
    const auto take = [&](const Ending& ending, size_t i) {
      const auto letter = static_cast<unsigned>((ending.letters >> (56 - 8 * i) & 0xff) - 'a');
      const uint32_t bit = letters_at[i] & uint32_t{1} << letter;
      if (bit == 0 || ending.n_changed > head + i) return;
      across.any |= bit;
      if (ending.n_changed <= i) {
        letters_at[i - ending.n_changed] |= bit;
        across.plausible |= bit & behind;
      } else if (is_known_before(head - (ending.n_changed - i - 1))) {
        across.plausible |= bit;
      }
    };
    for (size_t i = n_behind; i > 0; --i) {
      if (letters_at[i] == 0) continue;
      const uint64_t before = word_.before(tail + i);
      for (const Ending& ending : endings_with(static_cast<char>(before >> 56))) {
        if (ending.n <= i) {
          if (letters_at[i] != kAnyLetter && matches(before, ending, ending.n))
            letters_at[i - ending.n_changed] |= letters_at[i];
          continue;
        }
        const size_t n_front = ending.n - i - 1;
        const uint64_t front = ending.letters << (8 * (i + 1));
        if (matches(before, ending, i) &&
            (n_front == 0 || (before_letter ^ front) >> (64 - 8 * n_front) == 0))
          take(ending, i);
      }
    }
    if (letters_at[0] == 0) return across;
    for (const Ending& ending : one_letter_endings()) take(ending, 0);
    if (head == 0) return across;
    for (const Ending& ending : endings_with_second(static_cast<char>(before_letter >> 56)))
      if ((before_letter ^ ending.letters << 8) >> (72 - 8 * ending.n) == 0) take(ending, 0);
    return across;
  }

  PaddedWord word_;
  const bool stems_;
  // For each position: how many letters of the stem are known if endings have reached it.
  std::array<uint8_t, kMostKeptBytes + 1> kept_;
  // For each tail: the positions that chains of endings entirely at or after it reach.
  std::array<uint32_t, kMostKeptBytes + 1> reached_{};
  // For each position, one bit: whether a known term may begin with the letters that are kept before it.
  uint32_t known_ = 0;
  // The letters that may follow the first letters of the word in some known term; all letters where this was
  // not looked up.
  std::array<uint32_t, kMost> behind_{};
};

}  // namespace scrubjay::text
