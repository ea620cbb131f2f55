#include "engine/spelling.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/interruption.hpp"
#include "text/characters.hpp"

namespace scrubjay::engine {

bool Spelling::unknown(size_t term, size_t n_terms) const noexcept {
  for (size_t c = 0; c < s_.chunks.size(); ++c) {
    const lexical::TermPostings& postings = s_.postings[c * n_terms + term];
    if (postings.n > postings.n_dead) return false;
  }
  return true;
}

bool Spelling::may_change(std::span<const lexical::TermCount> terms) const noexcept {
  if (s_.chunks.empty()) return false;
  for (size_t t = 0; t < terms.size(); ++t)
    if (text::may_have_forms(terms[t].key) || unknown(t, terms.size())) return true;
  return false;
}

bool Spelling::correct(std::string_view text, std::span<const lexical::TermCount> terms,
                       std::vector<Correction>& corrections) {
  if (text.size() > kMostBytes) return false;
  SpelledTerms& spelled = s_.spelled;
  spelled.clear();
  if (analyzer_.english()) find_forms(terms);
  const bool has_forms = !spelled.replaced.empty() || !spelled.further.empty();
  find_meant(text, terms, corrections);
  if (!has_forms && corrections.empty()) return false;
  spelled.apply(terms);
  return true;
}

// Whether the text has the term as a word and as nothing else: a form of an identifier is meant as it stands.
bool Spelling::is_word(std::string_view term, uint64_t key) const noexcept {
  return std::all_of(s_.tokens.begin(), s_.tokens.end(), [&](const text::Token& token) {
    return token.kind == text::TokenKind::word || token.key != key || token.term != term;
  });
}

void Spelling::find_forms(std::span<const lexical::TermCount> terms) {
  SpelledTerms& spelled = s_.spelled;
  std::vector<SpelledTerms::Other>& others = spelled.others;
  for (uint32_t t = 0; t < terms.size(); ++t) {
    if (!text::may_have_forms(terms[t].key)) continue;
    const std::span<const std::string> forms = text::other_forms(terms[t].term);
    if (forms.empty() || !is_word(terms[t].term, terms[t].key)) continue;
    others.clear();
    for (const std::string& form : forms) others.push_back({{}, form, 0});
    look_up();
    std::erase_if(others, [](const SpelledTerms::Other& other) { return other.df == 0; });
    std::sort(others.begin(), others.end(), [](const SpelledTerms::Other& a, const SpelledTerms::Other& b) {
      return std::tie(b.df, a.term) < std::tie(a.df, b.term);
    });
    const bool replaces = !others.empty() && unknown(t, terms.size());
    if (replaces) spelled.replaced.push_back({t, others.front().term, {}});
    for (size_t i = replaces ? 1 : 0; i < others.size(); ++i)
      spelled.further.push_back({others[i].term, terms[t].count});
  }
}

void Spelling::find_meant(std::string_view text, std::span<const lexical::TermCount> terms,
                          std::vector<Correction>& corrections) {
  SpelledTerms& spelled = s_.spelled;
  text::find_spelled_words(text, s_.spelled_words);
  size_t n_words = 0;
  for (const text::SpelledWord& place : s_.spelled_words) {
    const std::string_view typed = text.substr(place.at, place.n_bytes);
    const std::string term = analyzer_.term_of_word(typed);
    const uint64_t key = text::term_key(term);
    const auto at = std::find_if(terms.begin(), terms.end(), [&](const lexical::TermCount& known) {
      return known.key == key && (text::is_packed(key) || known.term == term);
    });
    if (at == terms.end() || !unknown(static_cast<size_t>(at - terms.begin()), terms.size())) continue;
    if (!is_word(term, key)) continue;
    const auto t = static_cast<uint32_t>(at - terms.begin());
    const SpelledTerms::Replaced* known = spelled.find(t);
    if (!known) {
      if (n_words == kMostWords) continue;
      ++n_words;
      std::string word(typed);
      std::transform(word.begin(), word.end(), word.begin(), text::to_lower);
      Best best = nearest(analyzer_.stems_by_callback() ? term : word);
      spelled.replaced.push_back({t, std::move(best.term), std::move(best.word)});
      known = &spelled.replaced.back();
    }
    if (!known->word.empty()) corrections.push_back({std::string(typed), known->word, place.at});
  }
}

Spelling::Best Spelling::nearest(std::string_view word) {
  base::interruption_point();
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  others.clear();
  Best best;
  if (!std::all_of(word.begin(), word.end(), text::is_lower)) return best;
  std::string buffer;
  text::visit_edits(word, [&](std::string_view other) {
    if (other.empty()) return;
    const std::string_view term = analyzer_.quick_term(other, buffer);
    others.push_back({std::string(other), std::string(term), 0});
  });
  look_up();
  for (const SpelledTerms::Other& other : others) {
    if (other.df == 0 || other.term.size() < kLeastTermBytes) continue;
    const bool other_letter = other.word.front() != word.front();
    // Of the words of one term the last by bytes: story, not stori.
    const bool better = std::tie(other_letter, best.df, other.term, best.word) <
                        std::tie(best.other_letter, other.df, best.term, other.word);
    if (best.df == 0 || better) best = {other.term, other.word, other_letter, other.df};
  }
  return best;
}

// Counts the live documents of each of the others, chunk by chunk.
void Spelling::look_up() {
  constexpr size_t kAtOnce = 16;
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  std::array<lexical::TermPostings, kAtOnce> found;
  std::array<lexical::TermCount, kAtOnce> asked;
  for (const ChunkSnapshot& chunk : s_.chunks) {
    base::interruption_point();
    for (size_t from = 0; from < others.size(); from += kAtOnce) {
      const size_t n = std::min(kAtOnce, others.size() - from);
      for (size_t i = 0; i < n; ++i) {
        const std::string& term = others[from + i].term;
        asked[i] = {term, text::term_key(term), 1, true};
      }
      chunk.chunk->postings().find_all(std::span(asked).first(n), chunk.n_docs, chunk.dead, found.data());
      // A writer may be counting the dead meanwhile: then what is looked up is of this moment or the next.
      for (size_t i = 0; i < n; ++i)
        others[from + i].df += found[i].n - std::min(found[i].n, found[i].n_dead);
    }
  }
}

std::string corrected(std::string_view text, std::span<const Correction> corrections) {
  std::string out;
  size_t from = 0;
  for (const Correction& correction : corrections) {
    out.append(text.substr(from, correction.at - from)).append(correction.used);
    from = correction.at + correction.typed.size();
  }
  return out.append(text.substr(from));
}

const SpelledTerms::Replaced* SpelledTerms::find(uint32_t term) const noexcept {
  const auto at =
      std::find_if(replaced.begin(), replaced.end(), [&](const Replaced& one) { return one.at == term; });
  return at == replaced.end() ? nullptr : &*at;
}

bool SpelledTerms::means(const lexical::TermCount& term, std::string_view word) const noexcept {
  return std::any_of(replaced.begin(), replaced.end(),
                     [&](const Replaced& one) { return one.word == word && one.term == term.term; });
}

// A term that is there already counts the more.
void SpelledTerms::apply(std::span<const lexical::TermCount> given) {
  terms.assign(given.begin(), given.end());
  for (const Replaced& one : replaced) {
    if (one.term.empty()) continue;
    terms[one.at].term = one.term;
    terms[one.at].key = text::term_key(one.term);
  }
  for (const Further& one : further) {
    const uint64_t key = text::term_key(one.term);
    const bool present = std::any_of(terms.begin(), terms.end(), [&](const lexical::TermCount& term) {
      return term.key == key && term.term == one.term;
    });
    if (!present) terms.push_back({one.term, key, one.count, false});
  }
  for (size_t t = 1; t < terms.size();) {
    const auto end = terms.begin() + static_cast<ptrdiff_t>(t);
    const auto same = std::find_if(terms.begin(), end, [&](const lexical::TermCount& term) {
      return term.key == end->key && term.term == end->term;
    });
    if (same == end) {
      ++t;
      continue;
    }
    same->count += end->count;
    same->counts |= end->counts;
    terms.erase(end);
  }
}

}  // namespace scrubjay::engine
