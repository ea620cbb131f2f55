#include "text/known_words.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace scrubjay::text {
namespace {

using known_words::kBlocks;
using known_words::kBytes;

constexpr size_t kShortestWord = 4, kLongestWord = 24;
// The byte before a word's letters: number of letters shared with the previous word, and the forms of it that
// are known.
constexpr unsigned kShared = 0x1f, kWithS = 0x20, kWithEd = 0x40, kWithIng = 0x80;
constexpr unsigned kLast = 0x80;  // at the last letter of a word
constexpr unsigned kAbsent = kShared;

// Reads the word at `at`, given the previous word; moves `at` to the next one and returns the known forms.
unsigned read_word(size_t& at, std::array<char, 2 * kLongestWord>& word, size_t& n) noexcept {
  const unsigned head = kBytes[at++];
  n = head & kShared;
  for (unsigned byte = 0; (byte & kLast) == 0; ++at) {
    byte = kBytes[at];
    word[n++] = static_cast<char>(byte & ~kLast);
  }
  return head & ~kShared;
}

// The known forms according to the word's entry; kAbsent: no entry.
unsigned entry_of(std::string_view word) noexcept {
  if (word.size() < kShortestWord) return kAbsent;
  std::array<char, 2 * kLongestWord> letters{};
  size_t n = 0;
  const auto begins_behind = [&](std::string_view asked, uint32_t block) {
    size_t at = block;
    (void)read_word(at, letters, n);
    return asked < std::string_view(letters.data(), n);
  };
  const uint16_t* const pair = known_words::kBlocksBefore + 26 * (word[0] - 'a') + (word[1] - 'a');
  const uint32_t* const behind = std::upper_bound(kBlocks + pair[0], kBlocks + pair[1], word, begins_behind);
  if (behind == kBlocks) return kAbsent;
  const size_t next =
      behind == kBlocks + known_words::kNumberOfBlocks ? known_words::kNumberOfBytes : *behind;
  for (size_t at = behind[-1]; at < next;) {
    const unsigned forms = read_word(at, letters, n);
    const int order = std::string_view(letters.data(), n).compare(word);
    if (order == 0) return forms;
    if (order > 0) break;
  }
  return kAbsent;
}

bool has(unsigned forms, unsigned which) noexcept { return forms != kAbsent && (forms & which) != 0; }

// Whether `word` without its ending, or with an e in its place, is a word with that form.
bool is_form(std::string_view word, std::string_view ending, unsigned which) {
  if (!word.ends_with(ending)) return false;
  word.remove_suffix(ending.size());
  if (which == kWithS) return has(entry_of(word), which);
  if (!word.ends_with('e') && has(entry_of(word), which)) return true;
  return has(entry_of(std::string(word) + 'e'), which);
}

}  // namespace

bool is_known_word(std::string_view word) {
  if (word.empty() || word.size() > kLongestWord) return false;
  return entry_of(word) != kAbsent || is_form(word, "s", kWithS) || is_form(word, "ed", kWithEd) ||
         is_form(word, "ing", kWithIng);
}

}  // namespace scrubjay::text
