// The text layer: which terms does a text hold, and of which kind?
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/porter2.hpp"
#include "text/term_key.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text {

// word and part count towards the document length; whole and joined are further ways to find an identifier.
enum class TokenKind : uint8_t { word, part, whole, joined };

[[nodiscard]] constexpr bool counts(TokenKind kind) noexcept { return kind <= TokenKind::part; }

// "word", "part", "whole", "joined".
[[nodiscard]] std::string_view kind_name(TokenKind kind) noexcept;

struct Token {
  std::string_view term;  // 1..255 bytes of well-formed UTF-8
  uint64_t key;           // term_key(term)
  TokenKind kind;
};

// Stem of a case-folded word of another language (accents still on it). Must be a pure function; it is called without
// any lock held, from whichever thread analyses.
using Stemmer = std::function<std::string(std::string_view)>;

struct AnalyzerOptions {
  std::string name = "english";  // "english", "plain" (no stemming), or a name of your own together with a stemmer
  Stemmer stemmer;
};

// Immutable and thread-safe. Throws std::invalid_argument for an unknown name without a stemmer, or for a stemmer under
// a built-in name.
class Analyzer {
 public:
  class Scratch;

  explicit Analyzer(AnalyzerOptions options = {});
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // The versioned name, for example "english-1"; stored with an index, which no other analyzer may then read.
  [[nodiscard]] std::string_view name() const noexcept;

  // Any bytes are accepted. `out` is cleared first; its views live until the next analyze with the same scratch.
  // What the stemmer throws passes through, and the scratch stays usable.
  void analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What one thread needs to analyse: buffers and the cache from surface forms to finished tokens. Belongs to no analyzer:
// used with another one it starts afresh. Not for two threads at once.
class Analyzer::Scratch {
 public:
  static constexpr size_t kDefaultCacheBytes = size_t{1} << 21;

  // cache_bytes bounds the surface-form cache; 0 turns it off (the tokens are the same).
  explicit Scratch(size_t cache_bytes = kDefaultCacheBytes);
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  // Bytes held, buffers included.
  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  friend class Analyzer;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scrubjay::text
