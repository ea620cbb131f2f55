#include "text/query_terms.hpp"

#include <unordered_set>

#include "text/digraphs.hpp"
#include "text/foreign_forms.hpp"
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
  const ForeignForms* const foreign = ForeignForms::of(analyzer);
  std::vector<Digraph> digraphs;
  if (may_have_digraphs(utf8, analyzer)) digraphs = find_digraphs(utf8, analyzer);
  std::vector<std::string> forms;
  std::unordered_set<std::string> further;
  const auto add = [&](const std::string& form) {
    if (!seen.contains(form) && further.insert(form).second) forms.push_back(form);
  };
  for (const Token& token : tokens) {
    if (token.kind != TokenKind::word) continue;
    if (foreign) {
      for (const std::string& form : foreign->others(token.term)) add(form);
    } else if (analyzer.english() && may_have_forms(token.term, token.key)) {
      for (const std::string& form : other_forms(token.term, utf8)) add(form);
    }
    for (const Digraph& digraph : digraphs)
      if (digraph.term == token.term) add(digraph.other);
  }
  asked.insert(asked.end(), forms.begin(), forms.end());
  return asked;
}

}  // namespace scrubjay::text
