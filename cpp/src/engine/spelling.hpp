// Spelling: words of a query that no visible document holds are read as known ones.
//
// A word that may be misspelt (text/spelling.hpp), is no known word of the language (text/known_words.hpp) and whose term
// no visible document holds becomes a word at one edit from it that stands in a visible document: of the words that begin
// with the same letter, or else of all, the one whose term most visible documents hold, then the lesser term by bytes, and
// of its words the one that stands first (standing_words.hpp). A term of a word that is known is not corrected for
// another word of it. A function word of the text is never corrected, but may be a correction.
//
// A term that has other forms with other stems (text/word_forms.hpp; text/foreign_forms.hpp for analyzers that are named
// for other languages, text/script_forms.hpp for Arabic), or is written in another way (text/digraphs.hpp), is searched for in all that the scope knows; if it
// is unknown itself, the form that most visible documents hold takes its place; so does, in English, the known word that
// is another's American or British spelling with s or z. A further form is worth the lesser of its own idf and that of the
// term: "gone" is rarer than "go", and says no more. Forms count neither towards coverage nor as corrections.
//
// Compounds of a term, and the parts of a term that is a compound (text/compounds.hpp), are searched for beside it where
// the scope has them, at most kMostParts for each: in languages that have compounds for every term, with the analyzer for
// English for terms that no visible document holds. A word of the text counts as it is written, too, where its stem is
// shorter: Steuer, not only steu, begins Steuererklärung. Each is worth half the lesser of its own idf and that of the term. "can
// not" is also looked for as "cannot", and an unknown "cannot" as the two, which then weigh as function words do.
//
// Frequencies are those of all visible partitions, so that nothing depends on chunks. Cost: nothing where every word
// is known; else for each of at most kMostWords words a look at each word at one edit (54 n + 25 for n letters), however
// many words the scope has: one look for all letters at a place, a stem for those that may begin as a known term does, and
// a look-up in every visible chunk for those that a filter may hold (lexical/term_prefixes.hpp); then texts of documents
// are read until one has the word, mostly the first. For compounds the terms that hold the rarest four letters of a word
// are looked at (lexical/term_letters.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "engine/search_scratch.hpp"
#include "engine/standing_words.hpp"
#include "lexical/term_counts.hpp"
#include "text/analyzer.hpp"
#include "text/compounds.hpp"
#include "text/digraphs.hpp"
#include "text/foreign_forms.hpp"
#include "text/spelling.hpp"
#include "text/word_forms.hpp"

namespace scrubjay::engine {

class Spelling {
 public:
  static constexpr size_t kMostWords = 16;    // of one query
  static constexpr size_t kMostBytes = 4096;  // a longer text is no question
  static constexpr size_t kLeastTermBytes = 2;
  static constexpr size_t kMostTried = 8;   // terms of which a word is looked for in documents
  static constexpr size_t kMostParts = 32;  // of one term, or compounds with it

  // The scratch holds the snapshot and the postings of every chunk and term, before any filter.
  Spelling(SearchScratch& scratch, const text::Analyzer& analyzer)
      : s_(scratch),
        analyzer_(analyzer),
        has_compounds_(text::has_compounds(analyzer.name())),
        is_arabic_(analyzer.language() == "arabic"),
        foreign_(text::ForeignForms::of(analyzer)) {}

  // Whether some term is in no visible document, or may have other forms.
  [[nodiscard]] bool may_change(std::string_view text,
                                std::span<const lexical::TermCount> terms) const noexcept;

  // Fills scratch.spelled with the terms after correction and with other forms, and `corrections` with what was read
  // as what; false if the terms stay as they are.
  [[nodiscard]] bool correct(std::string_view text, std::span<const lexical::TermCount> terms,
                             std::vector<Correction>& corrections);

 private:
  struct StemmedWord {
    std::string term, word;  // the word begins with its term and goes on
  };
  struct Best {
    std::string term, word;
  };
  [[nodiscard]] bool unknown(size_t term, size_t n_terms) const noexcept;
  void find_unknown(size_t n_terms);
  [[nodiscard]] uint32_t first_letters(std::span<const lexical::TermCount> terms) const noexcept;
  void find_other_tokens();
  [[nodiscard]] bool is_word(std::string_view term, uint64_t key) const noexcept;
  [[nodiscard]] bool may_have_forms(const lexical::TermCount& term) const noexcept;
  [[nodiscard]] std::vector<std::string> forms_of(const lexical::TermCount& term, bool is_unknown,
                                                  std::string_view text,
                                                  std::span<const text::Digraph> digraphs) const;
  void find_forms(std::string_view text, std::span<const lexical::TermCount> terms);
  void find_meant(std::string_view text, std::span<const lexical::TermCount> terms,
                  std::vector<Correction>& corrections);
  void find_other_spelling(std::string_view word, uint32_t t);
  [[nodiscard]] bool says_can_not() const noexcept;
  void find_cannot(std::span<const lexical::TermCount> terms);
  void find_parts(std::string_view text, std::span<const lexical::TermCount> terms);
  void find_stemmed_words(std::string_view text);
  void find_parts_of(std::string_view term, uint32_t t, bool compounding);
  [[nodiscard]] bool says_compounds() const;
  [[nodiscard]] bool may_be_inside(std::string_view word);
  [[nodiscard]] bool may_be_known(uint64_t key) const noexcept;
  [[nodiscard]] Best nearest(std::string_view typed, std::string_view typed_term);
  [[nodiscard]] bool find_prefixes();
  void look_up();

  SearchScratch& s_;
  const text::Analyzer& analyzer_;
  const bool has_compounds_;
  const bool is_arabic_;                     // its stemmer leaves prefixes on most words
  const text::ForeignForms* const foreign_;  // null: the analyzer is of no language that has a table
  StandingWords standing_;
  std::vector<uint32_t> unknown_;             // terms, ascending
  std::vector<const text::Token*> no_words_;  // tokens of the text that are identifiers or parts of them
  std::vector<StemmedWord> stemmed_;          // of the text
  std::optional<bool> prefixes_known_;        // unset: not asked for yet
};

// The text with the words in place of what was typed.
[[nodiscard]] std::string corrected(std::string_view text, std::span<const Correction> corrections);

}  // namespace scrubjay::engine
