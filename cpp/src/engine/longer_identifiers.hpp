// Longer identifiers: whether a text holds an identifier as a part of a longer one: stg-0041 in sk-stg-0041.
//
// In terms: a whole form of the text starts with it, ends with it or contains it between joiners. Postings have only whole
// forms and single parts, so the text itself is read, up to its first kMostReadBytes.
// tests/reference/identifiers.py is the twin.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::engine {

// Reads texts one by one and reuses its buffers. Not thread-safe.
class LongerIdentifiers {
 public:
  static constexpr size_t kMostReadBytes = 65536;

  // Whether the text contains any of `identifiers` (whole forms, as terms) as a part of a longer one.
  [[nodiscard]] bool any_in(std::string_view utf8, std::span<const std::string> identifiers);

 private:
  text::Analyzer::Scratch analysis_;
  std::vector<text::Token> tokens_;
};

}  // namespace scrubjay::engine
