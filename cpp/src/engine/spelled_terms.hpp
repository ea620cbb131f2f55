// Spelled terms: the terms of a query after correction, and the data structures of the correction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexical/bm25.hpp"
#include "lexical/term_counts.hpp"
#include "lexical/term_prefixes.hpp"
#include "text/plausible_edits.hpp"

namespace scrubjay::engine {

struct SpelledTerms {
  // An unknown term of the query and its replacement; both are empty if no known term is near. `word` is
  // empty if the replacement is another form of the term.
  struct Replaced {
    uint32_t at;
    std::string term, word;
  };
  // A word at edit distance one, its term, and the number of visible documents that contain the term.
  struct Other {
    std::string word, term;
    uint64_t df;
    uint64_t key;  // text::term_key(term)
  };
  // An edit of a word with its term, before the term is looked up.
  struct Edit {
    uint64_t key;  // text::term_key(term)
    uint8_t n_letters, n_term_letters;
    std::array<char, text::PlausibleEdits::kMostBytes + 1> letters, term_letters;

    [[nodiscard]] std::string_view word() const noexcept { return {letters.data(), n_letters}; }
    [[nodiscard]] std::string_view term() const noexcept { return {term_letters.data(), n_term_letters}; }
  };
  // A known term that is another form of a query term, to be searched in addition.
  struct Further {
    std::string term;
    uint32_t count;
    uint32_t of;  // index of the original term, which may be replaced; kNone: several
  };
  static constexpr uint32_t kNone = 0xffffffffu;
  // A known compound that contains a query term, or a part of a query term.
  struct Part {
    std::string term;
    uint32_t of;  // index of the original term
  };
  // For chunks without a dictionary (lexical/term_prefixes.hpp): the terms of four of them.
  static constexpr size_t kTinyTerms = 1024;
  std::unique_ptr<lexical::TermPrefixes> tiny_prefixes;
  std::vector<const lexical::TermPrefixes*> prefixes;  // of the visible chunks, during one search

  std::vector<Replaced> replaced;
  std::vector<Further> further;
  std::vector<Part> parts;
  bool means_cannot = false;  // can, not and cannot stand for one another
  std::vector<Edit> edits;
  std::vector<Other> others;
  std::vector<lexical::TermCount> terms;  // views of `replaced` and of the tokens
  std::vector<uint32_t> given_at;         // per term: index of the original term, or kNone
  std::vector<bool> guessed;              // per term: it occurs only as a correction
  size_t first_form = 0;                  // index of the first further form or part, all of which follow
  std::vector<lexical::Worth> worth_of;   // of each further form and part

  void clear() noexcept {
    replaced.clear();
    further.clear();
    parts.clear();
    means_cannot = false;
    terms.clear();
    given_at.clear();
    guessed.clear();
    worth_of.clear();
  }
  [[nodiscard]] const Replaced* find(uint32_t term) const noexcept;
  // Whether the term is the result of a correction to this word.
  [[nodiscard]] bool means(const lexical::TermCount& term, std::string_view word) const noexcept;
  // Fills `terms` with the given terms, some of them replaced, the further forms and the
  // parts, without duplicates.
  void apply(std::span<const lexical::TermCount> originals);

 private:
  std::vector<uint32_t> replace();
  [[nodiscard]] size_t find_among(size_t n, std::string_view term, uint64_t key) const noexcept;
};

}  // namespace scrubjay::engine
