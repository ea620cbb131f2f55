// Spelled terms: the terms of a query after correction, and what that works on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexical/bm25.hpp"
#include "lexical/term_counts.hpp"
#include "lexical/term_prefixes.hpp"

namespace scrubjay::engine {

struct SpelledTerms {
  // A term of the query that is unknown, and what it became: nothing, if nothing near is known. `word` is empty for
  // another form of it.
  struct Replaced {
    uint32_t at;
    std::string term, word;
  };
  // A word at one edit, its term, and how many visible documents hold that.
  struct Other {
    std::string word, term;
    uint64_t df;
    uint64_t key;  // text::term_key(term)
  };
  // A known term that is another form of one of the query's, to be searched for beside it.
  struct Further {
    std::string term;
    uint32_t count;
    uint32_t of;  // of the given terms, perhaps replaced; kNone: of several
  };
  static constexpr uint32_t kNone = 0xffffffffu;
  // A known compound of a term of the query, or a part of one.
  struct Part {
    std::string term;
    uint32_t of;  // of the given terms
  };
  // For the chunks without a dictionary (lexical/term_prefixes.hpp), terms of four of them.
  static constexpr size_t kTinyTerms = 1024;
  std::unique_ptr<lexical::TermPrefixes> tiny_prefixes;
  std::vector<const lexical::TermPrefixes*> prefixes;  // of the visible chunks; during one search

  std::vector<Replaced> replaced;
  std::vector<Further> further;
  std::vector<Part> parts;
  bool means_cannot = false;  // can, not and cannot stand for one another
  std::vector<Other> others;
  std::vector<lexical::TermCount> terms;  // views of what is replaced, and of the tokens
  std::vector<uint32_t> given_at;         // of `terms`: which of the given ones they are; kNone: none
  std::vector<bool> guessed;              // of `terms`: only a correction says them
  size_t first_form = 0;                  // of `terms`: further forms and parts are the last
  std::vector<lexical::Worth> worth_of;   // of each of them

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
  // Whether the term is what a correction to this word became.
  [[nodiscard]] bool means(const lexical::TermCount& term, std::string_view word) const noexcept;
  // Fills `terms` with those given, some replaced, the further ones and the parts, each once.
  void apply(std::span<const lexical::TermCount> given);
};

}  // namespace scrubjay::engine
