// Query terms: what a question asks for, as terms that can be marked in a text.
//
// The distinct terms in the order of the text, without function words (all of them where nothing else is asked), and
// after them the other forms of its words (word_forms.hpp). Unlike a search this knows no scope: misspelt words are as
// they stand, and forms are there whether or not a document holds them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::text {

// Analyzer::analyze says what is thrown.
[[nodiscard]] std::vector<std::string> query_terms(std::string_view utf8, const Analyzer& analyzer);

}  // namespace scrubjay::text
