// Snowball: the stemmers of Snowball 3.1 for languages other than English.
//
// Translated at build time by cmake/snowball.py from the pinned package snowballstemmer, which is
// Snowball's Python output. The stems equal those of the C library of that version (libstemmer,
// PyStemmer): tests compare all languages. A later version with other stems is a new version of the
// analyzer's name. English: porter2.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace scrubjay::text {

namespace snowball {

struct Word;

// The stemmer of a language. `stem` throws only std::bad_alloc, has no state and needs no lock.
struct Program {
  std::string_view language;  // "german", "french", ...
  bool (*stem)(Word& word);
};

// Ascending by name.
[[nodiscard]] std::span<const Program> all_programs() noexcept;
// Returns null for an unknown language.
[[nodiscard]] const Program* find_program(std::string_view language) noexcept;
// "arabic, armenian, ..., yiddish", for messages.
[[nodiscard]] std::string language_names();

// Per-thread buffer for stemming. Not thread-safe.
class Stemmer {
 public:
  // Longer words are not stemmed: some stemmers are quadratic in the length of a word, and no language has
  // such words.
  static constexpr size_t kMostBytes = 1024;

  Stemmer();
  ~Stemmer();
  Stemmer(Stemmer&&) noexcept;
  Stemmer& operator=(Stemmer&&) noexcept;

  // Replaces `out` by the stem of a case-folded word, well-formed UTF-8 with accents. `word` must not be a
  // view of `out`.
  void stem(const Program& program, std::string_view word, std::string& out);

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  std::unique_ptr<Word> word_;  // allocated by the first call
};

}  // namespace snowball
}  // namespace scrubjay::text
