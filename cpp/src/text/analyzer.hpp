// The text layer: terms of a text, and their kinds.
//
//  1. Ill-formed UTF-8 becomes U+FFFD; NFKC; then terms lose case and accents (Indic vowel signs, dakuten
//     stay).
//  2. Words are UAX #29 words. Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar, Tai: overlapping bigrams of a
//     run (a run of one character: that character). Symbols and emoji are not indexed. 1,000 is 1000. No
//     stop words.
//  3. Alphabetic terms are stemmed, as word, part or joined form; terms with a digit and whole forms
//     never.
//  4. Words joined by one of - _ . @ / : + # ' (or by :: or __) are a compound; other sequences ("--",
//     "...", "://") separate, and joiners at the ends are punctuation. 's 'm 're 've 'll 'd go, don't is
//     dont, U.S. is us.
//  5. A compound with a digit, @, _, inner capitals, a dot inside, :: or a path is an identifier: whole
//     (sk-stg-0041), parts (sk stg 0041), joined (skstg0041). So are the compounds inside: path segments,
//     host of host:port, name without extension, 2.1.3 of v2.1.3. Whole forms keep what stands around
//     them: #4711, @jane, C++, C#, __init__.
//  6. Parts are cut where letters meet digits and at inner capitals (TS7032, camelCase), unless that gives
//     too many (hashes, UUID groups); the number of 20th and 1990s is a part.
//  7. Joined forms of pure numbers only if long and hyphenated (555-1234, not 3.5 or 10:30). Each form
//     once per occurrence, and not where a part says the same; but the joined form of E712 stays beside
//     its equal whole, so that such codes weigh as much in a query as TS-712 does.
//  8. Other compounds: at / : + # into words; hyphens and apostrophes (well-known, O'Brien) give parts and
//     joined.
//  9. Order of appearance; an identifier's wholes, then parts, then joined. Terms are cut to 255 bytes.
// 10. word and part count towards the document length, whole and joined do not.
// tests/reference/analyzer.py says the same in plain Python. Changing any of it is a new version in
// Analyzer::name.
//
// Files: utf8 (validation), unicode (the third-party tables), characters (our own), fold, word_terms
// (folding and stemming one word), porter2, snowball, identifiers (one compound), runs (text between separators),
// surface_cache (what was seen before), analyzer (the scanner in front), function_words
// (of queries), spelling, word_forms and script_forms (of queries), term_key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "text/porter2.hpp"
#include "text/term_key.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text {

// word and part count towards the document length; whole and joined are further ways to find an identifier.
enum class TokenKind : uint8_t { word, part, whole, joined };

[[nodiscard]] constexpr bool counts(TokenKind kind) noexcept { return kind <= TokenKind::part; }

// "word", "part", "whole", "joined".
[[nodiscard]] std::string_view kind_name(TokenKind kind) noexcept;

// A text may have that many tokens at most: as many as 16 MiB of one-letter words have. Compatibility
// characters that stand for whole phrases (U+FDFA) have four each, identifiers several for each part.
inline constexpr size_t kMaxTokens = size_t{1} << 23;
// And between two ASCII separators that many bytes after NFKC, which makes up to 33 of three.
inline constexpr size_t kMaxNormalBytes = size_t{1} << 26;

struct Token {
  std::string_view term;  // 1..255 bytes of well-formed UTF-8
  uint64_t key;           // term_key(term)
  TokenKind kind;
};

// Stem of a case-folded word of another language (accents still on it). Must be a pure function; it is called
// without any lock held, from whichever thread analyses.
using Stemmer = std::function<std::string(std::string_view)>;

struct AnalyzerOptions {
  std::string name =
      "english";  // "english", "plain" (no stemming), a language of snowball.hpp, or any other with a stemmer
  Stemmer stemmer;
};

// Immutable and thread-safe. Throws base::InvalidArgument for an unknown name without a stemmer, or for a
// stemmer under the name "english" or "plain". A stemmer under a language's name is used instead of Snowball's.
class Analyzer {
 public:
  class Scratch;

  explicit Analyzer(AnalyzerOptions options = {});
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // The versioned name, for example "english-1"; stored with an index, which no other analyzer may then read.
  [[nodiscard]] std::string_view name() const noexcept;
  // Whether it is the built-in one for English, whose function words are known.
  [[nodiscard]] bool english() const noexcept;
  // The language whose Snowball stemmer it has; empty: it has none.
  [[nodiscard]] std::string_view language() const noexcept;

  // The term of a word of ASCII letters that stands alone.
  [[nodiscard]] std::string term_of_word(std::string_view letters) const;
  // The same of letters of any script, in form NFKC.
  [[nodiscard]] std::string term_of_letters(std::string_view letters) const;
  // Whether words are stemmed by what takes longer than quick_term may: Snowball, or a function of the caller's.
  [[nodiscard]] bool stems_slowly() const noexcept;
  // As if term_of_word(letters) of small letters, but where stems_slowly() the word itself. The view is that of `buffer`.
  [[nodiscard]] std::string_view quick_term(std::string_view letters, std::string& buffer) const;

  // Any bytes are accepted. `out` is cleared first; its views live until the next analyze with the same
  // scratch. What the stemmer throws passes through, and the scratch stays usable. TextTooLarge.
  void analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out) const;
  // The same in portions, so that the tokens of a huge text are never there all at once: consume(tokens) for
  // all but the last, which are left in `out`. The views of a portion live until consume() returns.
  using Consume = std::function<void(std::span<const Token>)>;
  static constexpr size_t kPortion = size_t{1} << 13;  // tokens, and those of one more run
  void analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out,
               const Consume& consume) const;

 private:
  struct State;
  class Scanner;
  void scan(std::string_view utf8, Scratch& scratch, std::vector<Token>& out, const Consume* consume) const;
  std::unique_ptr<State> state_;
};

// A text of more than kMaxTokens or kMaxNormalBytes. The message begins with what was expected.
struct TextTooLarge : base::InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

// What one thread needs to analyse: buffers and the cache from surface forms to finished tokens. Belongs to
// no analyzer: used with another one it starts afresh. Not for two threads at once.
class Analyzer::Scratch {
 public:
  static constexpr size_t kDefaultCacheBytes = size_t{1} << 23;

  // cache_bytes bounds the surface-form cache; 0 turns it off (the tokens are the same).
  explicit Scratch(size_t cache_bytes = kDefaultCacheBytes);
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  // Bytes held, buffers included.
  [[nodiscard]] size_t memory_bytes() const noexcept;
  // Gives the buffers back if they hold more than that, but for the cache.
  void trim(size_t n_bytes) noexcept;

 private:
  friend class Analyzer;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scrubjay::text
