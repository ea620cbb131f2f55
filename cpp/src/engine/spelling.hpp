// Spelling: corrects query words that no visible document contains to known ones.
//
// A word is corrected if it may be misspelt (text/spelling.hpp), is not a known word of the language
// (text/known_words.hpp), and no visible document contains its term. It becomes a word at edit distance
// one that occurs in a visible document: among the candidates that begin with the same letter, or else
// among all, the one whose term occurs in most visible documents, then the lesser term by bytes, and of
// the words of that term the one that occurs first (standing_words.hpp). Without such a word, a word of
// TwoEdits::kLeastBytes letters or more becomes one at edit distance two, in the same order, that also has
// kLeastBytes letters or more and begins with the same letter (text/two_edits.hpp). A term of which some query word
// is known is not corrected because of its other words. A function word of the text is never corrected,
// but may be a correction.
//
// A term with other forms that have other stems (text/word_forms.hpp; text/foreign_forms.hpp for analyzers
// named for other languages, text/script_forms.hpp for Arabic), or with another way of writing
// (text/digraphs.hpp), is searched in all forms that the scope knows. If the term itself is unknown, the form
// that most visible documents contain replaces it; in English, so does the known American or British spelling
// with s or z. The worth of a further form is the lesser of its own idf and the term's: "gone" is rarer than
// "go" but no more informative. Forms count neither towards coverage nor as corrections.
//
// Compounds with a term, and the parts of a term that is a compound (text/compounds.hpp), are searched in
// addition if the scope has them, at most kMostParts for each term: in languages with compounds for every
// term, with the English analyzer for terms that no visible document contains. Each is worth half the lesser
// of its own idf and the term's. A word of the text whose stem is shorter is compared as it is written, too:
// "Steuer", not only "steu", begins "Steuererklärung". "can not" is also searched as "cannot", and an unknown
// "cannot" as the two words, which then weigh as function words.
//
// Frequencies are those of all visible partitions, so results do not depend on chunks. Cost: nothing if every
// word is known; otherwise, for each of at most kMostWords words, all words at edit distance one are tried
// (54 n + 25 for n letters), independently of the number of words in the scope: one test for all letters at a
// position, a stemming for those that may begin like a known term, and a lookup in every visible chunk for
// those that pass a filter (lexical/term_prefixes.hpp). For two edits, the terms that begin with the word's
// first letter are examined, three or four in a nanosecond (lexical/term_starts.hpp). Then texts of documents are
// read until one contains the word, usually the first. For compounds, the terms that contain the rarest four
// letters of a word are examined (lexical/term_letters.hpp).
#pragma once

#include <cstdint>
#include <functional>
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
#include "text/surface_words.hpp"
#include "text/word_forms.hpp"

namespace scrubjay::engine {

class Spelling {
 public:
  static constexpr size_t kMostWords = 16;    // per query
  static constexpr size_t kMostBytes = 4096;  // a longer text is not a question
  static constexpr size_t kLeastTermBytes = 2;
  static constexpr size_t kMostTried = 8;   // terms whose word is looked up in documents
  static constexpr size_t kMostParts = 32;  // parts of one term, or compounds with it

  // The scratch holds the snapshot and the postings of every chunk and term, before any filter.
  Spelling(SearchScratch& scratch, const text::Analyzer& analyzer)
      : s_(scratch),
        analyzer_(analyzer),
        english_(analyzer.english()),
        has_compounds_(text::has_compounds(analyzer.name())),
        is_arabic_(analyzer.language() == "arabic"),
        foreign_(text::ForeignForms::of(analyzer)) {}

  // Whether some term is in no visible document or may have other forms.
  [[nodiscard]] bool may_change(std::string_view text,
                                std::span<const lexical::TermCount> terms) const noexcept;

  // Fills scratch.spelled with the terms after correction and their other forms, and `corrections` with the
  // replaced words. Returns false if the terms do not change.
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
  [[nodiscard]] bool says_compounds();
  [[nodiscard]] bool may_be_inside(std::string_view word);
  [[nodiscard]] bool may_begin_known(std::string_view letters) const noexcept;
  [[nodiscard]] bool may_be_known(uint64_t key) const noexcept;
  [[nodiscard]] Best nearest(std::string_view typed, std::string_view typed_term);
  [[nodiscard]] Best nearest_at_two_edits(std::string_view typed, std::string_view word);
  [[nodiscard]] Best first_standing(
      char first, std::optional<text::SurfaceWords::Wanted> wanted,
      const std::function<bool(std::span<const SpelledTerms::Other>, std::string_view)>& is_meant);
  void find_plausible_edits(std::string_view word);
  [[nodiscard]] bool find_prefixes();
  void look_up();

  SearchScratch& s_;
  const text::Analyzer& analyzer_;
  const bool english_;
  const bool has_compounds_;
  const bool is_arabic_;                     // its stemmer leaves prefixes on most words
  const text::ForeignForms* const foreign_;  // null: no table for the analyzer's language
  StandingWords standing_;
  std::vector<uint32_t> unknown_;             // terms, ascending
  std::vector<const text::Token*> no_words_;  // tokens of the text that are, or are part of, identifiers
  std::vector<StemmedWord> stemmed_;          // words of the text
  std::optional<bool> prefixes_known_;        // unset: not computed yet
};

// Returns the text with the typed words replaced by their corrections.
[[nodiscard]] std::string corrected(std::string_view text, std::span<const Correction> corrections);

}  // namespace scrubjay::engine
