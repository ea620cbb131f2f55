// Checks that words that may be misspelt are whole words of the text, whatever its bytes, and that each edit
// is one edit away.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "hostile_text.hpp"
#include "text/spelling.hpp"

namespace {

using namespace scrubjay::text;

void require(bool holds) {
  if (!holds) std::abort();
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::vector<SpelledWord> words;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  find_spelled_words(text, words);
  size_t end = 0;
  for (const SpelledWord& word : words) {
    require(word.at >= end && word.n_bytes >= kLeastSpelledBytes && word.n_bytes <= kMostSpelledBytes);
    end = word.at + word.n_bytes;
    require(end <= size);
    require(word.at == 0 || !is_letter(text[word.at - 1]));
    require(end == size || !is_letter(text[end]));
    std::string lower(text.substr(word.at, word.n_bytes));
    for (char& c : lower) {
      require(is_letter(c));
      c = static_cast<char>(c | 0x20);
    }
    size_t n = 0;
    if (&word != words.data()) continue;  // the edits of one word suffice
    visit_edits(lower, [&](std::string_view other) {
      ++n;
      require(is_one_edit(lower, other));
    });
    require(n <= 54 * lower.size() + 25 + lower.size());
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return hostile::mutate(data, size, max_size, seed);
}
