#include "text/snowball_word.hpp"

#include <algorithm>

namespace scrubjay::text::snowball {

// Binary search for the last entry that is not after the letters at the cursor. common_low and common_high
// count the letters that the entries at the ends of the range are known to share with the word, so that no
// letter is compared twice.
template <bool kBackward>
int32_t Word::find(const Among& among) {
  const int32_t start = cursor;
  const int32_t n_left = kBackward ? start - limit_backward : limit - start;
  const auto own = [&](int32_t i) { return letter(kBackward ? start - 1 - i : start + i); };
  const auto entry_letter = [&](const Entry& entry, int32_t i) {
    return static_cast<char32_t>(
        among.letters[static_cast<size_t>(entry.at + (kBackward ? entry.n - 1 - i : i))]);
  };
  int32_t low = 0, high = among.n, common_low = 0, common_high = 0;
  bool first_inspected = false;
  while (true) {
    const int32_t middle = low + ((high - low) >> 1);
    const Entry& entry = among.entries[middle];
    int32_t common = std::min(common_low, common_high);
    bool before = false;  // the word is before the entry
    for (; common < entry.n; ++common) {
      if (common == n_left) {
        before = true;
        break;
      }
      const char32_t a = own(common), b = entry_letter(entry, common);
      if (a == b) continue;
      before = a < b;
      break;
    }
    (before ? high : low) = middle;
    (before ? common_high : common_low) = common;
    if (high - low > 1) continue;
    // The first entry has not been compared yet if the range shrank to it from above.
    if (low > 0 || high == low || first_inspected) break;
    first_inspected = true;
  }
  for (int32_t i = low; i >= 0; i = among.entries[i].shorter) {
    const Entry& entry = among.entries[i];
    if (common_low < entry.n) continue;
    const int32_t end = kBackward ? start - entry.n : start + entry.n;
    cursor = end;
    if (entry.condition == 0) return entry.result;
    const bool holds = among.conditions[entry.condition - 1](*this);
    cursor = end;
    if (holds) return entry.result;
  }
  return 0;
}

int32_t Word::find_among(const Among& among) { return find<false>(among); }
int32_t Word::find_among_b(const Among& among) { return find<true>(among); }

bool Word::check_slice() noexcept {
  broken = broken || bra < 0 || bra > ket || ket > limit || limit > n_letters();
  return !broken;
}

// Returns the number of letters by which the word grew.
template <class Text>
int32_t Word::replace(int32_t from, int32_t to, const Text& text) {
  const int32_t grown = static_cast<int32_t>(text.size()) - (to - from);
  const auto begin = letters.begin();
  letters.replace(begin + from, begin + to, text.begin(), text.end());
  limit += grown;
  if (cursor >= to) {
    cursor += grown;
  } else if (cursor > from) {
    cursor = from;
  }
  return grown;
}

void Word::slice_from(std::u16string_view text) {
  if (!check_slice()) return;
  (void)replace(bra, ket, text);
  ket = bra + static_cast<int32_t>(text.size());
}

std::u32string Word::slice_to() {
  if (!check_slice()) return {};
  return letters.substr(static_cast<size_t>(bra), static_cast<size_t>(ket - bra));
}

template <class Text>
void Word::insert_text(int32_t from, int32_t to, const Text& text) {
  broken = broken || from < 0 || from > to || to > n_letters();
  if (broken) return;
  const int32_t grown = replace(from, to, text);
  if (from <= bra) bra += grown;
  if (from <= ket) ket += grown;
}

void Word::insert(int32_t from, int32_t to, std::u16string_view text) { insert_text(from, to, text); }
void Word::insert(int32_t from, int32_t to, const std::u32string& text) { insert_text(from, to, text); }

}  // namespace scrubjay::text::snowball
