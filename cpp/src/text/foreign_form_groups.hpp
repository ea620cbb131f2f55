// The words of foreign_forms.hpp.
//
// Semicolons separate groups, spaces their words, which are forms of one another. After a plus come prefixes: each of
// them before all words of the group makes another group (rufen, rief + an: anrufen, anrief), in German with "zu"
// before the first word as well (anzurufen). Verbs whose stem changes, comparisons, plurals and feminines that
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
