// Plausible edits: the words at edit distance one whose terms may begin like some known term.
//
// Same as visit_edits() (spelling.hpp), without the words that cannot have a known term: of hundreds of words
// at edit distance one from an unknown word, a few dozen remain. The unchanged part of the word determines
// how much of the stem is known (kept_letters.hpp); this is computed once for all 26 letters at a position,
// and only a letter that completes an ending is examined separately.
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
    reach_.fill(kNever);
    const size_t n = word.size();
    reach_[n] = static_cast<int>(n);
    for (size_t at = n; stems && at > 0; --at) {
      if (reach_[at] == kNever) continue;
      const uint64_t before = word_.before(at);
      for (const Ending& ending : endings_with(word[at - 1])) {
        if ((before ^ ending.letters) >> (64 - 8 * ending.n) != 0) continue;
        int& to = reach_[at - ending.n_changed];
        to = std::max(to, std::min(reach_[at], static_cast<int>(at) - ending.n));
      }
    }
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
    behind_.fill(kAnyLetter);
    bool begins = true;  // whether a known term may begin like the word so far
    for (size_t head = kLeast - 1; head <= std::min(n, kMost - 1); ++head) {
      behind_[head] = begins ? prefixes.letters_behind(word_.beginning() & mask(head)) : 0;
      begins = head < n && (behind_[head] >> (word[head] - 'a') & 1) != 0;
    }
    for (size_t i = 0; i < n; ++i) {  // deletions
      PaddedWord edit(word.substr(0, i));
      std::memcpy(edit.letters() + i, word.data() + i + 1, n - i - 1);
      edit.resize(n - 1);
      if (n > 1) visit_one(edit, prefixes, visit);
    }
    for (size_t i = 0; i + 1 < n; ++i) {  // transpositions
      if (word[i] == word[i + 1]) continue;
      PaddedWord edit = word_;
      std::swap(edit.letters()[i], edit.letters()[i + 1]);
      visit_one(edit, prefixes, visit);
    }
    for (size_t i = 0; i < n; ++i) visit_letters(i, i + 1, prefixes, visit);  // substitutions
    for (size_t i = 0; i <= n; ++i) visit_letters(i, i, prefixes, visit);     // insertions
  }

 private:
  static constexpr int kNever = -1;
  static constexpr size_t kLeast = 3, kMost = 8;  // bytes per lookup
  static constexpr uint32_t kAnyLetter = (uint32_t{1} << 26) - 1;

  [[nodiscard]] static uint64_t mask(size_t n_bytes) noexcept {
    return n_bytes >= kMost ? ~uint64_t{0} : (uint64_t{1} << (8 * n_bytes)) - 1;
  }

  template <class Prefixes, class Visit>
  void visit_one(const PaddedWord& edit, const Prefixes& prefixes, Visit&& visit) const {
    const size_t n_kept = stems_ ? kept_letters(edit) : edit.size();
    if (n_kept >= kLeast && !prefixes.may_hold(edit.beginning() & mask(n_kept))) return;
    visit(edit.view(), n_kept == edit.size());
  }

  // Visits the word up to `head`, any letter (except the original one), and the word from `tail` on.
  template <class Prefixes, class Visit>
  void visit_letters(size_t head, size_t tail, const Prefixes& prefixes, Visit&& visit) const {
    const std::string_view word = word_.view();
    PaddedWord edit(word.substr(0, head));
    std::memcpy(edit.letters() + head + 1, word.data() + tail, word.size() - tail);
    edit.resize(head + 1 + word.size() - tail);
    // Number of letters of the stem that are known if no ending covers the letter.
    size_t n_kept = edit.size();
    for (size_t at = tail; stems_ && at < word.size(); ++at) {
      if (reach_[at] < static_cast<int>(tail)) continue;
      n_kept = head + 1 + (at - tail);
      break;
    }
    const uint32_t apart = stems_ ? letters_of_endings(head, tail) : 0;
    const uint64_t around = edit.beginning() & mask(n_kept);  // without the letter
    uint32_t letters = kAnyLetter;
    if (n_kept >= kLeast && head < kMost) {
      letters = behind_[head];
      if (n_kept != head + 1 && head + 1 != kMost) letters = prefixes.letters_at(head, around, letters);
    } else if (n_kept >= kLeast && !prefixes.may_hold(around)) {
      letters = 0;
    }
    letters |= apart;
    if (tail != head) letters &= ~(uint32_t{1} << (word[head] - 'a'));
    for (; letters != 0; letters &= letters - 1) {
      const auto letter = static_cast<unsigned>(std::countr_zero(letters));
      edit.letters()[head] = static_cast<char>('a' + letter);
      if ((apart >> letter & 1) != 0) {
        visit_one(edit, prefixes, visit);
      } else {
        visit(edit.view(), n_kept == edit.size());
      }
    }
  }

  // The letters that complete an ending together with their neighbours.
  [[nodiscard]] uint32_t letters_of_endings(size_t head, size_t tail) const noexcept {
    uint32_t letters = 0;
    const uint64_t before_letter = word_.before(head);
    const size_t last = std::min(word_.size(), tail + 7);  // no ending is longer
    for (size_t at = tail; at <= last; ++at) {
      if (reach_[at] < static_cast<int>(tail)) continue;
      const size_t n_behind = at - tail;
      const uint64_t before = word_.before(at);
      for (const Ending& ending :
           n_behind == 0 ? all_endings() : endings_with(static_cast<char>(before >> 56))) {
        if (ending.n <= n_behind) continue;
        if (n_behind != 0 && (before ^ ending.letters) >> (64 - 8 * n_behind) != 0) continue;
        const size_t n_front = ending.n - n_behind - 1;
        const uint64_t front = ending.letters << (8 * (n_behind + 1));
        if (n_front != 0 && (before_letter ^ front) >> (64 - 8 * n_front) != 0) continue;
        letters |= uint32_t{1} << ((ending.letters >> (56 - 8 * n_behind) & 0xff) - 'a');
      }
    }
    return letters;
  }

  PaddedWord word_;
  const bool stems_;
  // For each position that a chain of endings may reach: the greatest tail such that some chain lies entirely
  // at or after it; kNever: not reached.
  std::array<int, kMostKeptBytes + 1> reach_{};
  // The letters that may follow the first letters of the word in some known term; all letters where this was
  // not looked up.
  std::array<uint32_t, kMost> behind_{};
};

}  // namespace scrubjay::text
