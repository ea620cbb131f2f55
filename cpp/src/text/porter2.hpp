// Porter2: English stemming.
//
// Porter's second English stemmer as defined by Snowball 3.1
// (https://snowballstem.org/algorithms/english/stemmer.html). The definition has changed over the years
// ("ogist", "past", "inter", "dying"): tests compare with the PyStemmer wheel of that version, and a change
// here is a new analyzer version.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scrubjay::text {

// Returns the stem of a lower-case word. Bytes outside a-z are consonants, as in Snowball's. Never longer
// than the word.
[[nodiscard]] std::string porter2(std::string_view word);

// Same as word = porter2(word), in place and without allocation; returns the length of the stem.
[[nodiscard]] size_t porter2_in_place(char* word, size_t length) noexcept;

}  // namespace scrubjay::text
