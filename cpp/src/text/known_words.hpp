// Known words: is a word common English, whatever the documents hold?
//
// 73,295 words of 4 to 24 letters with their usual forms, names among them (cpp/src/text/known_words.txt; NOTICE says
// where they are from). The spelling of a query leaves them alone: a scope of few documents does not know most words, and
// what it does not know is seldom misspelt. Exact: a table of 204 KB of constants, front-coded in blocks, which
// cmake/known_words.py writes; nothing is made at the start. Cost: about a thousand instructions a word.
// tests/reference/known_words.py is the twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scrubjay::text {

// `word`: small ASCII letters.
[[nodiscard]] bool is_known_word(std::string_view word);

namespace known_words {

extern const uint32_t kBlocks[];  // where each begins in kBytes
extern const size_t kNumberOfBlocks;
extern const unsigned char kBytes[];
extern const size_t kNumberOfBytes;

}  // namespace known_words
}  // namespace scrubjay::text
