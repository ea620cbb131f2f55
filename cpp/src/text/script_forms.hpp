// Script forms: forms of words that the scripts of their languages share, by rule.
//
// Japanese in the other kana (ねこ, ネコ); Arabic with and without article and conjunction (كتاب, والكتاب); Hebrew with
// and without prefixes (בית, בבית); Russian and its kin and Greek with other endings of their declensions (книга, книгу).
// Two words are forms of one another if both are a stem and an affix of the language. As with word_forms.hpp a query is
// asked for the forms that its scope knows; what is indexed stays as it is. tests/reference/script_forms.py is the twin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Appends the other forms of a folded term, ascending by bytes; some hundred at most. None where the term is not of
// letters of one of these scripts alone, or is long.
void add_script_forms(std::string_view term, std::vector<std::string>& out);

}  // namespace scrubjay::text
