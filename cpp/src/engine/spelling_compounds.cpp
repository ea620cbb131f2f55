// Compounds with a query's terms, and parts of its compounds, that the scope has (spelling.hpp).
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <tuple>

#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "engine/spelling.hpp"
#include "text/surface_words.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {

namespace {

constexpr size_t kMostSigns = 16;  // per language

// signs_of_compounds(), in the form needed for lookups.
const std::vector<std::vector<lexical::TermCount>>& signs() {
  static const auto* const signs_by_language =
      [] {  // never destroyed: threads may outlive static destruction
        auto* lists = new std::vector<std::vector<lexical::TermCount>>;
        for (const std::vector<std::string>& of_language : text::signs_of_compounds()) {
          std::vector<lexical::TermCount>& terms = lists->emplace_back();
          for (const std::string& sign : of_language) terms.push_back({sign, text::term_key(sign), 1, true});
          assert(terms.size() <= kMostSigns);
        }
        return lists;
      }();
  return *signs_by_language;
}

}  // namespace

// Whether the visible documents have words of a language with compounds.
bool Spelling::says_compounds() {
  lexical::TermPostings postings[kMostSigns];
  const bool has_prefixes = find_prefixes();
  for (const std::vector<lexical::TermCount>& terms : signs()) {
    const auto may_be = [&](const lexical::TermCount& term) { return may_be_known(term.key); };
    const auto n_possible = static_cast<size_t>(std::count_if(terms.begin(), terms.end(), may_be));
    if (has_prefixes && n_possible < text::kLeastSigns) continue;
    uint32_t known = 0;  // one bit each
    for (const ChunkSnapshot& chunk : s_.chunks) {
      chunk.chunk->postings().find_all(terms, chunk.n_docs, chunk.dead, postings);
      for (size_t t = 0; t < terms.size(); ++t) known |= uint32_t{postings[t].n > postings[t].n_dead} << t;
      if (static_cast<size_t>(std::popcount(known)) >= text::kLeastSigns) return true;
    }
  }
  return false;
}

void Spelling::find_stemmed_words(std::string_view text) {
  text::SurfaceWords words;
  words.visit(text::sanitize_utf8(text), [&](std::string_view word) {
    if (!text::may_be_in_compound(word)) return false;
    const std::string term = analyzer_.term_of_word(word);
    const bool is_longer = word.size() > term.size() && word.starts_with(term);
    const auto is_known = [&](const StemmedWord& one) { return one.word == word; };
    if (is_longer && std::none_of(stemmed_.begin(), stemmed_.end(), is_known))
      stemmed_.push_back({term, std::string(word)});
    return stemmed_.size() == kMostParts;
  });
}

void Spelling::find_parts(std::string_view text, std::span<const lexical::TermCount> terms) {
  std::optional<bool> compounding;
  if (has_compounds_) {
    compounding = true;
    find_stemmed_words(text);
  }
  const auto find_parts_if_compound = [&](uint32_t t) {
    if (!text::may_be_in_compound(terms[t].term)) return;
    const SpelledTerms::Replaced* replaced = s_.spelled.find(t);
    if (replaced && !replaced->term.empty()) return;
    if (!is_word(terms[t].term, terms[t].key)) return;
    if (!compounding) compounding = says_compounds();
    find_parts_of(terms[t].term, t, *compounding);
  };
  if (has_compounds_) {
    for (uint32_t t = 0; t < terms.size(); ++t) find_parts_if_compound(t);
  } else {
    for (const uint32_t t : unknown_) find_parts_if_compound(t);
  }
}

// Whether a term of kVeryLongCompoundBytes or more may contain a word of kVeryLongPartBytes or more.
bool Spelling::may_be_inside(std::string_view word) {
  static_assert(text::kVeryLongPartBytes >= lexical::TermPrefixes::kMost);
  return !find_prefixes() ||
         std::any_of(s_.spelled.prefixes.begin(), s_.spelled.prefixes.end(),
                     [&](const lexical::TermPrefixes* prefixes) { return prefixes->may_be_inside(word); });
}

// Whether a visible document may contain a term that begins with these letters, as many as the filter has of a
// term. Call after find_prefixes(); useful if that returned true.
bool Spelling::may_begin_known(std::string_view letters) const noexcept {
  static_assert(text::kLeastPartBytes >= lexical::TermPrefixes::kLeast);
  const uint64_t bytes =
      base::load_bytes(letters.data(), std::min(letters.size(), lexical::TermPrefixes::kMost));
  return std::any_of(s_.spelled.prefixes.begin(), s_.spelled.prefixes.end(),
                     [&](const lexical::TermPrefixes* prefixes) { return prefixes->may_hold(bytes); });
}

void Spelling::find_parts_of(std::string_view term, uint32_t t, bool compounding) {
  // A possibly related term, and its terms beside it, in one list that is looked up at once.
  struct Related {
    size_t at, first_beside, end_beside;
    bool sure;
  };
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  std::vector<Related> related;
  std::vector<std::string> beside;
  others.clear();
  const auto compare = [&](std::string_view other, std::string_view part, std::string_view whole) {
    beside.clear();
    text::Likelihood likelihood = text::is_part(part, whole, compounding, beside);
    if (part == term) {
      for (const StemmedWord& one : stemmed_)
        if (one.term == term)
          likelihood = std::max(likelihood, text::is_part(one.word, whole, compounding, beside));
    }
    if (likelihood == text::Likelihood::none) return;
    const bool again = std::any_of(related.begin(), related.end(), [&](const Related& candidate) {
      return others[candidate.at].term == other;
    });
    if (again) return;
    const size_t at = others.size();
    others.push_back({{}, std::string(other), 0, text::term_key(other)});
    for (std::string& word : beside) {
      const uint64_t key = text::term_key(word);
      others.push_back({{}, std::move(word), 0, key});
    }
    related.push_back({at, at + 1, others.size(), likelihood == text::Likelihood::sure});
  };
  if (compounding || (term.size() >= text::kVeryLongPartBytes && may_be_inside(term))) {
    for (const ChunkSnapshot& chunk : s_.chunks) {
      base::interruption_point();
      chunk.chunk->postings().find_containing(term, [&](std::string_view whole) {
        if (text::may_be_in_compound(whole)) compare(whole, term, whole);
      });
    }
  }
  const bool has_prefixes = find_prefixes();
  const size_t least = compounding ? text::kLeastPartBytes : text::kVeryLongPartBytes;
  for (size_t at = 0; at + least <= term.size(); ++at) {
    if (has_prefixes && !may_begin_known(term.substr(at, least))) continue;
    for (size_t n = least; at + n <= term.size(); ++n) {
      const std::string_view part = term.substr(at, n);
      if (!has_prefixes || may_be_known(text::term_key(part))) compare(part, part, term);
    }
  }
  if (related.empty()) return;
  look_up();
  const auto is_known = [](const SpelledTerms::Other& other) { return other.df != 0; };
  std::erase_if(related, [&](const Related& candidate) {
    const auto begin = others.begin() + static_cast<std::ptrdiff_t>(candidate.first_beside);
    const auto end = others.begin() + static_cast<std::ptrdiff_t>(candidate.end_beside);
    return !is_known(others[candidate.at]) || !(candidate.sure || std::any_of(begin, end, is_known));
  });
  std::sort(related.begin(), related.end(), [&](const Related& a, const Related& b) {
    return std::tie(others[b.at].df, others[a.at].term) < std::tie(others[a.at].df, others[b.at].term);
  });
  if (related.size() > kMostParts) related.resize(kMostParts);
  for (const Related& candidate : related) s_.spelled.parts.push_back({others[candidate.at].term, t});
}

}  // namespace scrubjay::engine
