#include "text/query_terms.hpp"

#include <unordered_set>

#include "text/function_words.hpp"
#include "text/word_forms.hpp"

namespace scrubjay::text {

std::vector<std::string> query_terms(std::string_view utf8, const Analyzer& analyzer) {
  Analyzer::Scratch scratch(0);
  std::vector<Token> tokens;
  analyzer.analyze(utf8, scratch, tokens);
  FunctionWords function_words;
  std::unordered_set<uint64_t> passed_over;
  if (analyzer.english()) {
    for (const uint64_t key : function_words.find(utf8)) passed_over.insert(key);
  }
  std::vector<std::string> asked, all;
  std::unordered_set<std::string_view> seen;
  for (const Token& token : tokens) {
    if (!seen.insert(token.term).second) continue;
    all.emplace_back(token.term);
    if (!passed_over.contains(token.key)) asked.emplace_back(token.term);
  }
  if (asked.empty()) asked.swap(all);
  if (!analyzer.english()) return asked;
  std::vector<std::string> forms;
  std::unordered_set<std::string> further;
  for (const Token& token : tokens) {
    if (token.kind != TokenKind::word || !may_have_forms(token.term, token.key)) continue;
    for (std::string& form : other_forms(token.term, utf8)) {
      if (!seen.contains(form) && further.insert(form).second) forms.push_back(std::move(form));
    }
  }
  asked.insert(asked.end(), forms.begin(), forms.end());
  return asked;
}

}  // namespace scrubjay::text
