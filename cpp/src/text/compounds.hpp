// Compounds: words of German, Dutch, Swedish, Danish, Norwegian and Finnish that are made of words.
//
// A term is part of another one if it stands in it and what is beside it may be words, too: by their length, or because
// the scope knows them. So Krankenversicherungsbeitrag has the part Versicherung, but Hundert has no Hund. Between the
// parts may stand letters that link them (Versicherung-s-beitrag, Kranke-n-haus), or those that a stemmer takes off
// (versicher-ungs-beitrag). Terms are folded and have small letters a to z only.
//
// Where nothing says that a scope's texts are in such a language, length alone tells, and words must be long.
// tests/reference/compounds.py is the twin; engine/spelling.hpp has the use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

inline constexpr size_t kLeastPartBytes = 4, kLeastCompoundBytes = 8, kMostCompoundBytes = 48;
// What counts whatever the language: such parts, in compounds of at least so many letters.
inline constexpr size_t kVeryLongPartBytes = 8, kVeryLongCompoundBytes = 16;

enum class Likelihood : uint8_t { none, if_known, sure };

// Whether `part` is a part of `whole`. if_known: if the scope has one of the terms that were appended to `beside`.
[[nodiscard]] Likelihood is_part(std::string_view part, std::string_view whole, bool compounding,
                                 std::vector<std::string>& beside);

// Whether a term may be part of a compound, or one: 4 to 48 letters a to z.
[[nodiscard]] bool may_be_in_compound(std::string_view term) noexcept;

// Whether an analyzer (by its versioned name, "german-1") is one for a language that has compounds.
[[nodiscard]] bool has_compounds(std::string_view analyzer) noexcept;

// Of each such language some frequent words that English has not, as terms of the analyzer for English. A scope that
// has kLeastSigns of one language's words is one of that language.
inline constexpr size_t kLeastSigns = 4;
[[nodiscard]] std::span<const std::vector<std::string>> signs_of_compounds();

}  // namespace scrubjay::text
