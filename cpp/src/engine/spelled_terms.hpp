// Spelled terms: the terms of a query after correction, and what that works on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexical/term_counts.hpp"

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
  };
  // A known term that is another form of one of the query's, to be searched for beside it.
  struct Further {
    std::string term;
    uint32_t count;
  };
  std::vector<Replaced> replaced;
  std::vector<Further> further;
  std::vector<Other> others;
  std::vector<lexical::TermCount> terms;  // views of what is replaced, and of the tokens

  void clear() noexcept {
    replaced.clear();
    further.clear();
    terms.clear();
  }
  [[nodiscard]] const Replaced* find(uint32_t term) const noexcept;
  // Whether the term is what a correction to this word became.
  [[nodiscard]] bool means(const lexical::TermCount& term, std::string_view word) const noexcept;
  // Fills `terms` with those given, some replaced, and the further ones, each once.
  void apply(std::span<const lexical::TermCount> given);
};

}  // namespace scrubjay::engine
