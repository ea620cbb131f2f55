// Compounds: words made of words, in German, Dutch, Swedish, Danish, Norwegian and Finnish.
//
// A term is part of another one if it occurs in it and the rest may be words, too: by length, or because the
// scope knows them. Krankenversicherungsbeitrag has the part Versicherung, but Hundert does not have the part
// Hund. The parts may be separated by linking letters (Versicherung-s-beitrag, Kranke-n-haus), or by a suffix
// that a stemmer removes (versicher-ungs-beitrag). Terms are folded and consist of the letters a to z only.
//
// If nothing indicates that the texts of a scope are in such a language, only length decides, and words must
// be long. Reference: tests/reference/compounds.py. Used by engine/spelling.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::text {

inline constexpr size_t kLeastPartBytes = 4, kLeastCompoundBytes = 8, kMostCompoundBytes = 48;
// Minimum bytes of a part and of its compound that apply in any language.
inline constexpr size_t kVeryLongPartBytes = 8, kVeryLongCompoundBytes = 16;

enum class Likelihood : uint8_t { none, if_known, sure };

// Whether `part` is a part of `whole`. if_known: only if the scope has one of the terms appended to `beside`.
[[nodiscard]] Likelihood is_part(std::string_view part, std::string_view whole, bool compounding,
                                 std::vector<std::string>& beside);

// Whether a term may be a compound or part of one: 4 to 48 letters a to z.
[[nodiscard]] bool may_be_in_compound(std::string_view term) noexcept;

// Whether an analyzer (by its versioned name, "german-1") is for a language with compounds.
[[nodiscard]] bool has_compounds(std::string_view analyzer) noexcept;

// Frequent words of each such language that are not English, as terms of the English analyzer. A scope that
// has kLeastSigns words of one language is in that language.
inline constexpr size_t kLeastSigns = 4;
[[nodiscard]] std::span<const std::vector<std::string>> signs_of_compounds();

}  // namespace scrubjay::text
