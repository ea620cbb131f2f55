// Checks that the analyzer gives well-formed terms for any bytes, and the same ones with a cold, a warm and
// no cache.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hostile_text.hpp"
#include "text/analyzer.hpp"
#include "text/snowball.hpp"

namespace {

using namespace scrubjay::text;

bool same(const std::vector<Token>& a, const std::vector<Token>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Token& x, const Token& y) {
    return x.term == y.term && x.key == y.key && x.kind == y.kind;
  });
}

// One analyzer for each language of Snowball, selected by the input.
const Analyzer& of_language(size_t n) {
  static const std::vector<std::unique_ptr<const Analyzer>> all = [] {
    std::vector<std::unique_ptr<const Analyzer>> made;
    for (const snowball::Program& program : snowball::all_programs())
      made.push_back(std::make_unique<const Analyzer>(AnalyzerOptions{std::string(program.language), {}}));
    return made;
  }();
  return *all[n % all.size()];
}

// Checks that a stem depends on the word alone, not on words stemmed before.
void check_stemmer(std::string_view bytes, size_t n) {
  static snowball::Stemmer used;
  snowball::Stemmer fresh;
  const snowball::Program& program = snowball::all_programs()[n % snowball::all_programs().size()];
  const std::string word = sanitize_utf8(bytes);
  std::string stem, again;
  used.stem(program, word, stem);
  fresh.stem(program, word, again);
  if (stem != again || valid_utf8_prefix(stem) != stem.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Analyzer english, plain({"plain", {}});
  static Analyzer::Scratch warm, uncached(0), small(50'000);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Token> tokens, again;
  const size_t language = size == 0 ? 0 : data[0];
  check_stemmer(bytes, language);
  for (const Analyzer* analyzer : {&english, &plain, &of_language(language)}) {
    analyzer->analyze(bytes, uncached, tokens);
    // A character becomes at most 18 by NFKC; a word is indexed whole, joined and by its parts.
    if (tokens.size() > 40 * size) std::abort();
    for (const Token& token : tokens) {
      if (token.term.empty() || token.term.size() > kMaxTermBytes) std::abort();
      if (valid_utf8_prefix(token.term) != token.term.size()) std::abort();
      if (token.key != term_key(token.term)) std::abort();
    }
    analyzer->analyze(bytes, small, again);
    if (!same(tokens, again)) std::abort();
  }
  english.analyze(bytes, uncached, tokens);
  english.analyze(bytes, warm, again);
  if (!same(tokens, again)) std::abort();
  english.analyze(bytes, warm, again);
  if (!same(tokens, again)) std::abort();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return hostile::mutate(data, size, max_size, seed);
}
