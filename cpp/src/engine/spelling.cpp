#include "engine/spelling.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "base/interruption.hpp"
#include "text/characters.hpp"
#include "text/known_words.hpp"
#include "text/script_forms.hpp"

namespace scrubjay::engine {

namespace {

constexpr std::string_view kCan = "can", kNot = "not", kCannot = "cannot";

// Tells of most keys that they were not added.
class KeyFilter {
 public:
  void add(uint64_t key) noexcept { bits_[place_of(key) / 64] |= uint64_t{1} << (place_of(key) % 64); }
  [[nodiscard]] bool may_hold(uint64_t key) const noexcept {
    return (bits_[place_of(key) / 64] >> (place_of(key) % 64) & 1) != 0;
  }

 private:
  static constexpr size_t kBits = 2048;
  [[nodiscard]] static size_t place_of(uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15ull) >> 53; }

  std::array<uint64_t, kBits / 64> bits_{};
};

}  // namespace

bool Spelling::unknown(size_t term, size_t n_terms) const noexcept {
  for (size_t c = 0; c < s_.chunks.size(); ++c) {
    const lexical::TermPostings& postings = s_.postings[c * n_terms + term];
    if (postings.n > postings.n_dead) return false;
  }
  return true;
}

void Spelling::find_unknown(size_t n_terms) {
  unknown_.clear();
  for (size_t t = 0; t < n_terms; ++t)
    if (unknown(t, n_terms)) unknown_.push_back(static_cast<uint32_t>(t));
}

bool Spelling::may_have_forms(const lexical::TermCount& term) const noexcept {
  if (foreign_) return foreign_->may_hold(term.key);
  if (is_arabic_) return !term.term.empty() && static_cast<unsigned char>(term.term.front()) >= 0x80;
  return english_ && text::may_have_forms(term.term, term.key);
}

bool Spelling::may_change(std::string_view text, std::span<const lexical::TermCount> terms) const noexcept {
  if (s_.chunks.empty()) return false;
  for (size_t t = 0; t < terms.size(); ++t)
    if (may_have_forms(terms[t]) || unknown(t, terms.size())) return true;
  if (text::may_have_digraphs(text, analyzer_)) return true;
  if (english_) return says_can_not();
  return has_compounds_ && std::any_of(terms.begin(), terms.end(), [](const lexical::TermCount& term) {
           return text::may_be_in_compound(term.term);
         });
}

bool Spelling::correct(std::string_view text, std::span<const lexical::TermCount> terms,
                       std::vector<Correction>& corrections) {
  if (text.size() > kMostBytes) return false;
  SpelledTerms& spelled = s_.spelled;
  spelled.clear();
  find_unknown(terms.size());
  find_other_tokens();
  find_forms(text, terms);
  if (english_) find_cannot(terms);
  find_meant(text, terms, corrections);
  if (has_compounds_ || english_) find_parts(text, terms);
  const bool replaces =
      std::any_of(spelled.replaced.begin(), spelled.replaced.end(),
                  [](const SpelledTerms::Replaced& replacement) { return !replacement.term.empty(); });
  if (!replaces && spelled.further.empty() && spelled.parts.empty()) return false;
  spelled.apply(terms);
  return true;
}

void Spelling::find_other_tokens() {
  no_words_.clear();
  for (const text::Token& token : s_.tokens)
    if (token.kind != text::TokenKind::word) no_words_.push_back(&token);
}

// Whether the term occurs in the text as a word only: forms of identifiers are not corrected.
bool Spelling::is_word(std::string_view term, uint64_t key) const noexcept {
  return std::none_of(no_words_.begin(), no_words_.end(),
                      [&](const text::Token* token) { return token->key == key && token->term == term; });
}

// Without duplicates.
std::vector<std::string> Spelling::forms_of(const lexical::TermCount& term, bool is_unknown,
                                            std::string_view text,
                                            std::span<const text::Digraph> digraphs) const {
  std::vector<std::string> forms;
  if (may_have_forms(term)) {
    if (foreign_) {
      const std::span<const std::string> others = foreign_->others(term.term);
      forms.assign(others.begin(), others.end());
    } else if (is_arabic_) {
      text::add_script_forms(term.term, forms);
    } else {
      forms = text::other_forms(term.term, text);
    }
  }
  for (const text::Digraph& digraph : digraphs) {
    if (digraph.term != term.term || (digraph.if_unknown && !is_unknown)) continue;
    if (std::find(forms.begin(), forms.end(), digraph.other) == forms.end()) forms.push_back(digraph.other);
  }
  return forms;
}

void Spelling::find_forms(std::string_view text, std::span<const lexical::TermCount> terms) {
  SpelledTerms& spelled = s_.spelled;
  std::vector<SpelledTerms::Other>& others = spelled.others;
  std::vector<text::Digraph> digraphs;
  if (text::may_have_digraphs(text, analyzer_)) digraphs = text::find_digraphs(text, analyzer_);
  for (uint32_t t = 0; t < terms.size(); ++t) {
    if (digraphs.empty() && !may_have_forms(terms[t])) continue;  // most
    std::vector<std::string> forms = forms_of(terms[t], unknown(t, terms.size()), text, digraphs);
    if (english_ && terms[t].term == kCannot && unknown(t, terms.size()))
      forms = {std::string(kCan), std::string(kNot)};
    if (forms.empty() || !is_word(terms[t].term, terms[t].key)) continue;
    others.clear();
    for (const std::string& form : forms) others.push_back({{}, form, 0, text::term_key(form)});
    look_up();
    std::erase_if(others, [](const SpelledTerms::Other& other) { return other.df == 0; });
    std::sort(others.begin(), others.end(), [](const SpelledTerms::Other& a, const SpelledTerms::Other& b) {
      return std::tie(b.df, a.term) < std::tie(a.df, b.term);
    });
    const bool replaces = !others.empty() && unknown(t, terms.size());
    if (replaces) spelled.replaced.push_back({t, others.front().term, {}});
    if (replaces && terms[t].term == kCannot) spelled.means_cannot = true;
    for (size_t i = replaces ? 1 : 0; i < others.size(); ++i)
      spelled.further.push_back({others[i].term, terms[t].count, t});
  }
}

bool Spelling::says_can_not() const noexcept {
  static const uint64_t can = text::term_key(kCan),
                        not_ = text::term_key(kNot);  // packed: the keys contain the words
  for (size_t i = 1; i < s_.tokens.size(); ++i) {
    const text::Token &a = s_.tokens[i - 1], &b = s_.tokens[i];
    if (a.key == can && b.key == not_ && a.kind == text::TokenKind::word && b.kind == a.kind) return true;
  }
  return false;
}

// Searches "cannot", too, if the text has "can not".
void Spelling::find_cannot(std::span<const lexical::TermCount> terms) {
  if (!says_can_not()) return;
  const bool present = std::any_of(terms.begin(), terms.end(),
                                   [](const lexical::TermCount& term) { return term.term == kCannot; });
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  others.assign(1, {{}, std::string(kCannot), 0, text::term_key(kCannot)});
  look_up();
  if (present || others.front().df == 0) return;
  s_.spelled.further.push_back({std::string(kCannot), 1, SpelledTerms::kNone});
  s_.spelled.means_cannot = true;
}

void Spelling::find_meant(std::string_view text, std::span<const lexical::TermCount> terms,
                          std::vector<Correction>& corrections) {
  struct Asked {
    const text::SpelledWord* place;
    uint32_t term;
    std::string word;
  };
  std::vector<Asked> words;
  std::vector<uint32_t> known;  // terms of known words
  text::PossibleStems stems;
  for (const uint32_t t : unknown_) stems.add(terms[t].term);
  if (unknown_.empty() || (english_ && stems.none())) return;
  text::find_spelled_words(text, s_.spelled_words, english_ ? &stems : nullptr);
  for (const text::SpelledWord& place : s_.spelled_words) {
    const std::string_view typed = text.substr(place.at, place.n_bytes);
    const std::string term = analyzer_.term_of_word(typed);
    const uint64_t key = text::term_key(term);
    const auto at = std::find_if(unknown_.begin(), unknown_.end(), [&](uint32_t index) {
      return terms[index].key == key && (text::is_packed(key) || terms[index].term == term);
    });
    if (at == unknown_.end() || !is_word(term, key)) continue;
    const uint32_t t = *at;
    std::string word(typed);
    std::transform(word.begin(), word.end(), word.begin(), text::to_lower);
    if (text::is_known_word(word)) {
      known.push_back(t);
      if (!s_.spelled.find(t)) find_other_spelling(word, t);
    } else {
      words.push_back({&place, t, std::move(word)});
    }
  }
  SpelledTerms& spelled = s_.spelled;
  size_t n_words = 0;
  for (const Asked& query_word : words) {
    if (std::find(known.begin(), known.end(), query_word.term) != known.end()) continue;
    const SpelledTerms::Replaced* replaced = spelled.find(query_word.term);
    if (!replaced) {
      if (n_words == kMostWords) continue;
      ++n_words;
      Best best = nearest(query_word.word, terms[query_word.term].term);
      spelled.replaced.push_back({query_word.term, std::move(best.term), std::move(best.word)});
      replaced = &spelled.replaced.back();
    }
    if (replaced->word.empty()) continue;
    const std::string_view typed = text.substr(query_word.place->at, query_word.place->n_bytes);
    corrections.push_back({std::string(typed), replaced->word, query_word.place->at});
  }
}

// Finds a known word that only British or only American documents contain.
void Spelling::find_other_spelling(std::string_view word, uint32_t t) {
  if (!english_) return;
  const std::string other = text::other_spelling(word);
  if (other.empty() || !text::is_known_word(other)) return;
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  std::string term = analyzer_.term_of_word(other);
  const uint64_t key = text::term_key(term);
  others.assign(1, {other, std::move(term), 0, key});
  look_up();
  if (others.front().df != 0) s_.spelled.replaced.push_back({t, others.front().term, {}});
}

// Counts the live documents of each of the other words, chunk by chunk.
void Spelling::look_up() {
  constexpr size_t kAtOnce = 16;
  std::vector<SpelledTerms::Other>& others = s_.spelled.others;
  std::array<lexical::TermPostings, kAtOnce> postings;
  std::array<lexical::TermCount, kAtOnce> terms;
  for (const ChunkSnapshot& chunk : s_.chunks) {
    base::interruption_point();
    for (size_t from = 0; from < others.size(); from += kAtOnce) {
      const size_t n = std::min(kAtOnce, others.size() - from);
      for (size_t i = 0; i < n; ++i) {
        const std::string& term = others[from + i].term;
        terms[i] = {term, others[from + i].key, 1, true};
      }
      chunk.chunk->postings().find_all(std::span(terms).first(n), chunk.n_docs, chunk.dead, postings.data());
      // A writer may be counting deleted documents meanwhile: the counts are then of this state or the next.
      for (size_t i = 0; i < n; ++i)
        others[from + i].df += postings[i].n - std::min(postings[i].n, postings[i].n_dead);
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
  const auto at = std::find_if(replaced.begin(), replaced.end(),
                               [&](const Replaced& replacement) { return replacement.at == term; });
  return at == replaced.end() ? nullptr : &*at;
}

bool SpelledTerms::means(const lexical::TermCount& term, std::string_view word) const noexcept {
  return std::any_of(replaced.begin(), replaced.end(), [&](const Replaced& replacement) {
    return replacement.word == word && replacement.term == term.term;
  });
}

// A term that is already there gets a greater count.
void SpelledTerms::apply(std::span<const lexical::TermCount> originals) {
  terms.assign(originals.begin(), originals.end());
  guessed.assign(originals.size(), false);
  given_at.resize(originals.size());
  std::iota(given_at.begin(), given_at.end(), 0u);
  const std::vector<uint32_t> index_of = replace();
  first_form = terms.size();
  if (further.empty() && parts.empty()) return;
  KeyFilter keys;
  for (const lexical::TermCount& term : terms) keys.add(term.key);
  const auto add = [&](std::string_view term, uint32_t count, lexical::Worth worth) {
    const uint64_t key = text::term_key(term);
    if (keys.may_hold(key) && find_among(terms.size(), term, key) != terms.size()) return;
    keys.add(key);
    worth_of.push_back(worth);
    terms.push_back({term, key, count, false});
  };
  const auto index_now = [&](uint32_t at) { return index_of.empty() ? at : index_of[at]; };
  for (const Further& form : further)
    add(form.term, form.count,
        form.of == kNone ? lexical::Worth{} : lexical::Worth{lexical::Worth::Kind::form, index_now(form.of)});
  for (const Part& part : parts)
    add(part.term, originals[part.of].count, {lexical::Worth::Kind::part, index_now(part.of)});
  guessed.resize(terms.size(), false);
  given_at.resize(terms.size(), kNone);
}

// Replaces terms, which are the given ones, and merges duplicates. Returns the index of each given term among
// those that remain; empty: nothing was replaced.
std::vector<uint32_t> SpelledTerms::replace() {
  std::vector<uint32_t> index_of;
  for (const Replaced& replacement : replaced) {
    if (replacement.term.empty()) continue;
    index_of.resize(terms.size());
    given_at[replacement.at] = kNone;
    guessed[replacement.at] = !replacement.word.empty();
    terms[replacement.at].term = replacement.term;
    terms[replacement.at].key = text::term_key(replacement.term);
  }
  // The given terms are distinct: duplicates can only arise from replacements.
  size_t n_left = 0;
  std::vector<size_t> became;  // replacements, by index among the remaining terms
  for (size_t t = 0; t < index_of.size(); ++t) {
    const lexical::TermCount term = terms[t];
    const uint32_t given = given_at[t];
    size_t same = n_left;
    if (given == kNone) {
      same = find_among(n_left, term.term, term.key);
      if (same == n_left) became.push_back(n_left);
    } else {
      for (const size_t target : became)
        if (terms[target].key == term.key && terms[target].term == term.term) same = target;
    }
    index_of[t] = static_cast<uint32_t>(same);
    if (same == n_left) {
      terms[n_left] = term;
      guessed[n_left] = guessed[t];
      given_at[n_left++] = given;
      continue;
    }
    if (given != kNone) given_at[same] = given;
    terms[same].count += term.count;
    terms[same].counts |= term.counts;
    guessed[same] = guessed[same] && guessed[t];
  }
  if (index_of.empty()) return index_of;
  terms.resize(n_left);
  guessed.resize(n_left);
  given_at.resize(n_left);
  return index_of;
}

// Returns the index of the term among the first n terms, or n if it is not one of them.
size_t SpelledTerms::find_among(size_t n, std::string_view term, uint64_t key) const noexcept {
  size_t t = 0;
  while (t < n && (terms[t].key != key || terms[t].term != term)) ++t;
  return t;
}

}  // namespace scrubjay::engine
