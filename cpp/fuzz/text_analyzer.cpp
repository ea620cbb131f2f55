// Does the analyzer give well-formed terms for any bytes, and the same ones with a cold, a warm and no cache?
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "hostile_text.hpp"
#include "text/analyzer.hpp"

namespace {

using namespace scrubjay::text;

bool same(const std::vector<Token>& a, const std::vector<Token>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Token& x, const Token& y) {
    return x.term == y.term && x.key == y.key && x.kind == y.kind;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Analyzer english, plain({"plain", {}});
  static Analyzer::Scratch warm, uncached(0), small(50'000);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Token> tokens, again;
  for (const Analyzer* analyzer : {&english, &plain}) {
    analyzer->analyze(bytes, uncached, tokens);
    // A character is at most 18 by NFKC; a word is indexed whole, joined and by its parts.
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
