// Word groups of foreign_forms.hpp.
//
// Groups are separated by semicolons, the words of a group by spaces; they are forms of one another. Prefixes
// follow a plus: each of them, put before all words of the group, makes another group (rufen, rief + an:
// anrufen, anrief), in German with "zu" before the first word as well (anzurufen). Contains verbs with stem
// changes, comparisons, plurals and feminines whose forms Snowball's stemmers do not unite; no auxiliaries,
// which carry no information.
#pragma once

#include <span>
#include <string_view>

namespace scrubjay::text {

struct FormGroups {
  std::string_view language;  // a language of Snowball
  std::string_view words;
};

// Ascending by language.
[[nodiscard]] std::span<const FormGroups> foreign_form_groups() noexcept;

}  // namespace scrubjay::text
