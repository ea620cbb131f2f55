// Word forms: English words of which another form has another stem.
//
// Irregular plurals and verbs (knife, knives; go, went) and British and American spellings (colour, color). What is one edit away and
// unknown is found as if it were misspelt (spelling.hpp); this table is for what is further away, and for scopes that
// write a word in both ways. A query is asked for the forms that its scope knows; what is indexed stays as it is.
// tests/reference/word_forms.py is the twin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Whether there are other forms of the term, whose key it is; false alarms happen. Cheap.
[[nodiscard]] bool may_have_forms(std::string_view term, uint64_t key) noexcept;

// The terms of the other forms of a text's term, ascending by bytes: of the table, or by the rules of its script
// (script_forms.hpp). The text says which word is meant: "leaves" is of "leave" and of "leaf", "leaving" of the first
// alone, and a word in capitals among others (SAT) has no forms.
[[nodiscard]] std::vector<std::string> other_forms(std::string_view term, std::string_view text);

}  // namespace scrubjay::text
