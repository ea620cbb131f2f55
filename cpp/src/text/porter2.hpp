// Porter2: English stemming.
//
// Porter's second English stemmer as Snowball 3.1 defines it
// (https://snowballstem.org/algorithms/english/stemmer.html). The definition changed over the years ("ogist",
// "past", "inter", "dying"): tests hold ours to the PyStemmer wheel of the version named there, and a change
// here is a new analyzer version.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scrubjay::text {

// The stem of a lower-case word. Bytes outside a-z are consonants, as in Snowball's. Never longer than the
// word.
[[nodiscard]] std::string porter2(std::string_view word);

// As if word = porter2(word), in place and without allocating; returns the length of the stem.
[[nodiscard]] size_t porter2_in_place(char* word, size_t length) noexcept;

}  // namespace scrubjay::text
