// Query terms: what a question asks for, as terms that can be highlighted in a text.
//
// The distinct terms in the order of the text, without function words (unless it has only function words),
// followed by the other forms of its words (word_forms.hpp). Unlike a search this has no scope: misspelt
// words are not corrected, and forms are included whether or not a document contains them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::text {

// Throws what Analyzer::analyze throws.
[[nodiscard]] std::vector<std::string> query_terms(std::string_view utf8, const Analyzer& analyzer);

}  // namespace scrubjay::text
