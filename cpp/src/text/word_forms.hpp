// Word forms: English words whose forms have different stems.
//
// Irregular plurals and verbs (knife, knives; go, went) and British and American spellings (colour, color).
// An unknown word at edit distance one is found by spelling correction (spelling.hpp); this table is for
// greater distances, and for scopes that contain both spellings. A query is expanded by the forms that its
// scope knows; the index does not change. Reference: tests/reference/word_forms.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

// Whether the term with this key may have other forms; may give false positives. Cheap.
[[nodiscard]] bool may_have_forms(std::string_view term, uint64_t key) noexcept;

// Returns the terms of the other forms of a term of the text, ascending by bytes: from the table, or by the
// rules of its script (script_forms.hpp). The text decides which word is meant: "leaves" is a form of "leave"
// and "leaf", "leaving" of the first only; a word in capitals among others (SAT) has no forms.
[[nodiscard]] std::vector<std::string> other_forms(std::string_view term, std::string_view text);

}  // namespace scrubjay::text
