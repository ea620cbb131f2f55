// Text layer: the terms of a text, and their kinds.
//
//  1. Ill-formed UTF-8 becomes U+FFFD; text is normalised to NFKC; terms are folded, without case and accents
//     (Indic vowel signs and dakuten stay).
//  2. Words are UAX #29 words. Runs of Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar and Tai become
//     overlapping bigrams (a run of one character becomes that character). Symbols and emoji are not indexed.
//     1,000 is 1000. There are no stop words.
//  3. Alphabetic terms are stemmed, as word, part or joined form; terms with a digit and whole forms never
//     are.
//  4. Words joined by one of - _ . @ / : + # ' (or by :: or __) are a compound; other sequences ("--", "...",
//     "://") separate words, and joiners at the ends are punctuation. The contractions 's 'm 're 've 'll 'd
//     are removed, don't is dont, U.S. is us.
//  5. A compound with a digit, @, _, inner capitals, an inner dot, :: or a path is an identifier: it gives
//     its whole form (sk-stg-0041), parts (sk stg 0041) and joined form (skstg0041). So do the compounds
//     inside it: path segments, the host of host:port, a name without its extension, 2.1.3 of v2.1.3. Whole
//     forms keep adjacent joiners: #4711, @jane, C++, C#, __init__.
//  6. Parts are split where letters meet digits and at inner capitals (TS7032, camelCase), unless that gives
//     too many parts (hashes, UUID groups); the number of 20th and 1990s is a part.
//  7. Pure numbers have a joined form only if they are long and hyphenated (555-1234, not 3.5 or 10:30). Each
//     form appears once per occurrence, and not if it equals a part; but E712 keeps its joined form beside
//     the equal whole form, so that such codes weigh as much in a query as TS-712.
//  8. Other compounds: those joined by / : + # are split into words; hyphens and apostrophes (well-known,
//     O'Brien) give parts and a joined form.
//  9. Order: as in the text; for an identifier whole forms, then parts, then joined forms. Terms are cut to
//     255 bytes.
// 10. Only word and part count towards the document length; whole and joined do not.
//
// Reference: tests/reference/analyzer.py, in plain Python. Any change is a new version in Analyzer::name.
//
// Files: utf8 (validation), unicode (third-party tables), characters (our own tables), fold, word_terms
// (folding and stemming of one word), porter2, snowball, identifiers (one compound), runs (text between
// separators), surface_cache (cache of runs), analyzer (the scanner), function_words (of queries), spelling,
// word_forms and script_forms (of queries), term_key.
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

// The maximum number of tokens of a text: that of 16 MiB of one-letter words. Compatibility characters that
// stand for whole phrases (U+FDFA) have four tokens each, identifiers several for each part.
inline constexpr size_t kMaxTokens = size_t{1} << 23;
// The maximum number of bytes between two ASCII separators after NFKC, which can turn three bytes into 33.
inline constexpr size_t kMaxNormalBytes = size_t{1} << 26;

struct Token {
  std::string_view term;  // 1..255 bytes of well-formed UTF-8
  uint64_t key;           // term_key(term)
  TokenKind kind;
};

// Returns the stem of a case-folded word of another language, accents included. Must be a pure function; it
// is called without locks, from any thread that analyses.
using Stemmer = std::function<std::string(std::string_view)>;

struct AnalyzerOptions {
  std::string name =
      "english";  // "english", "plain" (no stemming), a language of snowball.hpp, or any name with a stemmer
  Stemmer stemmer;
};

// Immutable and thread-safe. Throws base::InvalidArgument for an unknown name without a stemmer, or for a
// stemmer under the name "english" or "plain". A stemmer under a language's name replaces Snowball's.
class Analyzer {
 public:
  class Scratch;

  explicit Analyzer(AnalyzerOptions options = {});
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // The versioned name, for example "english-1"; stored with an index, which only the same analyzer may read.
  [[nodiscard]] std::string_view name() const noexcept;
  // Whether it is the built-in English analyzer, whose function words are known.
  [[nodiscard]] bool english() const noexcept;
  // The language of its Snowball stemmer; empty if it has none.
  [[nodiscard]] std::string_view language() const noexcept;

  // Returns the term of a word of ASCII letters.
  [[nodiscard]] std::string term_of_word(std::string_view letters) const;
  // Returns the term of a word of letters of any script, in form NFKC.
  [[nodiscard]] std::string term_of_letters(std::string_view letters) const;
  // Whether stemming is too slow for quick_term(): by Snowball, or by a function of the caller.
  [[nodiscard]] bool stems_slowly() const noexcept;
  // Same as letters = term_of_word(letters) for n lower-case letters, in place; returns the length of the term.
  // If stems_slowly(), the letters remain as they are.
  [[nodiscard]] size_t quick_term(char* letters, size_t n) const noexcept;

  // Accepts any bytes. `out` is cleared first; its views live until the next analyze() with the same scratch.
  // Exceptions of the stemmer propagate, and the scratch stays usable. Throws TextTooLarge.
  void analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out) const;
  // Same in portions, so that the tokens of a huge text are never in memory all at once: calls
  // consume(tokens) for all but the last portion, which is left in `out`. The views of a portion live until
  // consume() returns.
  using Consume = std::function<void(std::span<const Token>)>;
  static constexpr size_t kPortion = size_t{1} << 13;  // tokens, plus those of one more run
  void analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out,
               const Consume& consume) const;

 private:
  struct State;
  class Scanner;
  void scan(std::string_view utf8, Scratch& scratch, std::vector<Token>& out, const Consume* consume) const;
  std::unique_ptr<State> state_;
};

// A text with more than kMaxTokens tokens or kMaxNormalBytes bytes. The message begins with the expectation.
struct TextTooLarge : base::InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

// Per-thread state for analysis: buffers and the cache from surface forms to tokens. Not bound to an
// analyzer: use with another one clears the cache. Not thread-safe.
class Analyzer::Scratch {
 public:
  static constexpr size_t kDefaultCacheBytes = size_t{1} << 23;

  // cache_bytes bounds the surface-form cache; 0 disables it (the tokens are the same).
  explicit Scratch(size_t cache_bytes = kDefaultCacheBytes);
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  // Bytes held, buffers included.
  [[nodiscard]] size_t memory_bytes() const noexcept;
  // Releases the buffers if they hold more than n_bytes; the cache stays.
  void trim(size_t n_bytes) noexcept;

 private:
  friend class Analyzer;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scrubjay::text
