// Snowball: the stemmers of Snowball 3.1, for languages other than English.
//
// Translated at build time by cmake/snowball.py from the pinned package snowballstemmer, whose sources are Snowball's
// output in Python. The stems are those of the C library of that version (libstemmer, PyStemmer), letter for letter: tests
// compare all languages. A later version that gives other stems is a new version of the analyzer's name. English is
// porter2.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace scrubjay::text {

namespace snowball {

struct Word;

// The stemmer of a language. `stem` never throws for want of anything but memory, keeps nothing and needs no lock.
struct Program {
  std::string_view language;  // "german", "french", ...
  bool (*stem)(Word& word);
};

// By name, ascending.
[[nodiscard]] std::span<const Program> all_programs() noexcept;
// Null: there is no such language.
[[nodiscard]] const Program* find_program(std::string_view language) noexcept;
// "arabic, armenian, ..., yiddish", for messages.
[[nodiscard]] std::string language_names();

// What one thread stems with: a buffer. Not for two threads at once.
class Stemmer {
 public:
  // Longer words are not stemmed: some stemmers take the square of a word's length, and no language has such words.
  static constexpr size_t kMostBytes = 1024;

  Stemmer();
  ~Stemmer();
  Stemmer(Stemmer&&) noexcept;
  Stemmer& operator=(Stemmer&&) noexcept;

  // The stem of a case-folded word of well-formed UTF-8 with its accents. Replaces `out`; `word` may not be a view of it.
  void stem(const Program& program, std::string_view word, std::string& out);

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  std::unique_ptr<Word> word_;  // made by the first call
};

}  // namespace snowball
}  // namespace scrubjay::text
