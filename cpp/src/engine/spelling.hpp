// Spelling: words of a query that no visible document holds are read as known ones.
//
// A word that may be misspelt (text/spelling.hpp) and whose term no visible document holds becomes the known word at
// one edit from it: of the words that begin with the same letter, or else of all, the one whose term most visible
// documents hold, then the lesser by bytes. A function word of the text is none of these, but one may be meant.
//
// Frequencies are those of all visible partitions, so that nothing depends on chunks. Cost: nothing where every word
// is known; else for each of at most kMostWords words a look-up in every visible chunk for each word at one edit
// (54 n + 25 for n letters), however many words the scope has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "engine/search_scratch.hpp"
#include "lexical/term_counts.hpp"
#include "text/analyzer.hpp"
#include "text/spelling.hpp"

namespace scrubjay::engine {

class Spelling {
 public:
  static constexpr size_t kMostWords = 16;    // of one query
  static constexpr size_t kMostBytes = 4096;  // a longer text is no question
  static constexpr size_t kLeastTermBytes = 2;

  // The scratch holds the snapshot and the postings of every chunk and term, before any filter.
  Spelling(SearchScratch& scratch, const text::Analyzer& analyzer) noexcept
      : s_(scratch), analyzer_(analyzer) {}

  // Whether some term is in no visible document.
  [[nodiscard]] bool any_unknown(std::span<const lexical::TermCount> terms) const noexcept;

  // Fills scratch.spelled with the terms after correction, and `corrections` with what was read as what; false, and
  // nothing is filled, if nothing was.
  [[nodiscard]] bool correct(std::string_view text, std::span<const lexical::TermCount> terms,
                             std::vector<Correction>& corrections);

 private:
  struct Best {
    std::string term, word;
    bool other_letter = true;
    uint64_t df = 0;
  };
  [[nodiscard]] bool unknown(size_t term, size_t n_terms) const noexcept;
  [[nodiscard]] Best nearest(std::string_view word);
  void look_up();

  SearchScratch& s_;
  const text::Analyzer& analyzer_;
};

// The text with the words in place of what was typed.
[[nodiscard]] std::string corrected(std::string_view text, std::span<const Correction> corrections);

}  // namespace scrubjay::engine
