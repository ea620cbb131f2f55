// Longer identifiers: whether a text holds an identifier as a part of a longer one: stg-0041 in sk-stg-0041.
//
// As terms: one of the text's whole forms has it at its begin, at its end or inside, with joiners beside it. Postings know
// whole forms and single parts only, so the text is read; of a long one the first kMostReadBytes.
// tests/reference/identifiers.py is the twin.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::engine {

// Reads one text after the other; keeps its buffers. Not thread-safe.
class LongerIdentifiers {
 public:
  static constexpr size_t kMostReadBytes = 65536;

  // Whether the text holds any of them in this way. `identifiers`: whole forms, as terms.
  [[nodiscard]] bool any_in(std::string_view utf8, std::span<const std::string> identifiers);

 private:
  text::Analyzer::Scratch analysis_;
  std::vector<text::Token> tokens_;
};

}  // namespace scrubjay::engine
