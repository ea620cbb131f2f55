#include "engine/longer_identifiers.hpp"

#include <algorithm>

#include "engine/identifier_tier.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {
namespace {

// Whole forms are the same in all languages, so no word is stemmed.
const text::Analyzer& analyzer_of_wholes() {
  static const auto* const analyzer =  // never destroyed: threads may outlive static destruction
      new text::Analyzer({.name = "plain", .stemmer = nullptr});
  return *analyzer;
}

}  // namespace

bool LongerIdentifiers::any_in(std::string_view utf8, std::span<const std::string> identifiers) {
  analyzer_of_wholes().analyze(text::cut_utf8(utf8, kMostReadBytes), analysis_, tokens_);
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const text::Token& token) {
    return token.kind == text::TokenKind::whole &&
           std::any_of(identifiers.begin(), identifiers.end(),
                       [&](const std::string& identifier) { return is_part_of(identifier, token.term); });
  });
}

}  // namespace scrubjay::engine
