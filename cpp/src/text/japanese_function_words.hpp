// Function words of a Japanese question: titles, particles, and endings of verbs, which hiragana writes.
//
// Japanese text is indexed as overlapping pairs of characters (runs.hpp), and pairs inside the endings of a
// question ("さんの", "ですか") are rare in a small scope, though they carry no meaning. A pair is a function word
// if the text has it only inside runs of hiragana that consist of a title, a particle, an ending and a final
// particle, in this order, each of which may be absent. A noun in hiragana is such a run only if it is spelled
// like a particle. Such a word has several pairs (さん and んの), so each weighs as little as a function word of
// another language. Reference: tests/reference/japanese_function_words.py.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Appends the keys (term_key()) of the text's Japanese function words, possibly with repetitions.
void add_japanese_function_words(std::string_view utf8, std::vector<uint64_t>& keys);

}  // namespace scrubjay::text
