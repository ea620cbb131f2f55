// Digraphs: letters with a mark that are also written as two (Müller, Mueller; Århus, Aarhus; Tromsø, Tromsoe).
//
// ä, ö, ü, å and ø of a query's word are also looked for as ae, oe, ue, aa and oe, all of them in the word at once; in
// Danish, Norwegian and Swedish aa and oe also as å and ø, which folding makes a and o. Elsewhere ae, oe and ue of a
// name (a word of five letters or more with a capital first) are also looked for as ä, ö and ü, if no document has the
// name as it stands: "Mueller" is also "Müller", but "poet" is no "pot". tests/reference/digraphs.py is the twin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::text {

// A word of a text, as the term that it has, and the term of its other way of writing.
struct Digraph {
  std::string term, other;
  bool if_unknown;  // only where no document has the term
};

// Whether the text may have any with this analyzer. Cheap.
[[nodiscard]] bool may_have_digraphs(std::string_view utf8, const Analyzer& analyzer) noexcept;

// In the order of the text, none where both terms are the same. Words are runs of letters a to z and those of Latin-1.
[[nodiscard]] std::vector<Digraph> find_digraphs(std::string_view utf8, const Analyzer& analyzer);

}  // namespace scrubjay::text
