// Digraphs: letters with a mark that are also written as two letters (Müller, Mueller; Århus,
// Aarhus; Tromsø, Tromsoe).
//
// Query words with ä, ö, ü, å and ø are also searched with ae, oe, ue, aa and oe, replacing all of them in
// the word at once; in Danish, Norwegian and Swedish aa and oe are also searched as å and ø, which folding
// turns into a and o. In other languages, ae, oe and ue of a name (a capitalised word of five letters or
// more) are also searched as ä, ö and ü, if no document has the name as written: "Mueller" is also "Müller",
// but "poet" is not "pot". Reference: tests/reference/digraphs.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::text {

// The term of a word of a text, and the term of its other spelling.
struct Digraph {
  std::string term, other;
  bool if_unknown;  // only if no document has the term
};

// Whether the text may have digraphs with this analyzer. Cheap.
[[nodiscard]] bool may_have_digraphs(std::string_view utf8, const Analyzer& analyzer) noexcept;

// Returns the digraphs in the order of the text, without those whose two terms are equal. Words are runs of
// the letters a to z and of Latin-1 letters.
[[nodiscard]] std::vector<Digraph> find_digraphs(std::string_view utf8, const Analyzer& analyzer);

}  // namespace scrubjay::text
