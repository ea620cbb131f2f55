#include "text/foreign_forms.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "text/foreign_form_groups.hpp"
#include "text/term_key.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMostTables = 32;

std::vector<std::string> split_at_spaces(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t from = at;
    at = std::min(text.find(' ', from), text.size());
    if (at > from) words.emplace_back(text.substr(from, at - from));
  }
  return words;
}

void add_once(std::vector<std::string>& sorted, const std::string& term) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), term);
  if (at == sorted.end() || *at != term) sorted.insert(at, term);
}

}  // namespace

const ForeignForms* ForeignForms::of(const Analyzer& analyzer) {
  static std::array<std::atomic<const ForeignForms*>, kMostTables> tables{};
  static std::mutex making;
  const std::string_view language = analyzer.language();
  if (language.empty()) return nullptr;
  const std::span<const FormGroups> groups = foreign_form_groups();
  const auto entry = std::lower_bound(
      groups.begin(), groups.end(), language,
      [](const FormGroups& group, std::string_view wanted) { return group.language < wanted; });
  if (entry == groups.end() || entry->language != language) return nullptr;
  std::atomic<const ForeignForms*>& table = tables[static_cast<size_t>(entry - groups.begin())];
  if (const ForeignForms* const made = table.load(std::memory_order_acquire)) return made;
  const std::lock_guard lock(making);
  if (const ForeignForms* const made = table.load(std::memory_order_acquire)) return made;
  const auto* const forms = new ForeignForms(analyzer, language, entry->words);
  table.store(forms, std::memory_order_release);
  return forms;
}

ForeignForms::ForeignForms(const Analyzer& analyzer, std::string_view language, std::string_view groups) {
  for (size_t from = 0; from < groups.size();) {
    const size_t end = std::min(groups.find(';', from), groups.size());
    const std::string_view group = groups.substr(from, end - from);
    from = end + 1;
    const size_t plus = std::min(group.find('+'), group.size());
    const std::vector<std::string> words = split_at_spaces(group.substr(0, plus));
    add(analyzer, words);
    if (plus == group.size()) continue;
    for (const std::string& prefix : split_at_spaces(group.substr(plus + 1))) {
      std::vector<std::string> prefixed;
      for (const std::string& word : words) prefixed.push_back(prefix + word);
      if (language == "german") prefixed.push_back(prefix + "zu" + words.front());
      add(analyzer, prefixed);
    }
  }
}

void ForeignForms::add(const Analyzer& analyzer, const std::vector<std::string>& words) {
  std::vector<std::string> terms;
  for (const std::string& word : words) add_once(terms, analyzer.term_of_letters(word));
  if (terms.size() < 2) return;
  for (const std::string& term : terms) {
    const size_t bit = bit_of(term_key(term));
    bits_[bit / 64] |= uint64_t{1} << (bit % 64);
    std::vector<std::string>& other_terms = others_[term];
    for (const std::string& other : terms)
      if (other != term) add_once(other_terms, other);
  }
}

std::span<const std::string> ForeignForms::others(std::string_view term) const {
  const auto entry = others_.find(term);
  return entry == others_.end() ? std::span<const std::string>() : entry->second;
}

}  // namespace scrubjay::text
