// Does the analyzer give well-formed terms for any bytes, and the same ones with a cold, a warm and no cache?
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

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
