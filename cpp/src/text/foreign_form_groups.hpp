// The words of foreign_forms.hpp.
//
// Groups between semicolons, words between spaces. Those of a group are forms of one another; behind a plus stand
// prefixes, with each of which the words before it make a group of their own (rufen, rief + an: anrufen, anrief), in
// German also the first word behind "zu" (anzurufen). Verbs whose stem changes, comparisons, plurals and feminines that
// the stemmers of Snowball leave apart; no auxiliaries, which say nothing.
#pragma once

#include <span>
#include <string_view>

namespace scrubjay::text {

struct FormGroups {
  std::string_view language;  // of Snowball
  std::string_view words;
};

// By language, ascending.
[[nodiscard]] std::span<const FormGroups> foreign_form_groups() noexcept;

}  // namespace scrubjay::text
