// Script forms: word forms by the rules of the languages that share a script.
//
// Japanese in the other kana (ねこ, ネコ); Arabic with and without article and conjunction (كتاب, والكتاب);
// Hebrew with and without prefixes (בית, בבית); Russian and related languages and Greek with other endings of
// their declensions (книга, книгу). Two words are forms of one another if both are a stem plus an affix of
// the language. As with word_forms.hpp, a query is expanded by the forms that its scope knows; the index does
// not change. Reference: tests/reference/script_forms.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Appends the other forms of a folded term, ascending by bytes; at most a few hundred. Appends nothing if the
// term is long or has letters of other scripts.
void add_script_forms(std::string_view term, std::vector<std::string>& out);

}  // namespace scrubjay::text
