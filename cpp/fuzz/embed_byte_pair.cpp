// Checks that the tokenizer of the static embedder equals its plain definition for any bytes.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "../tests/embed_vocabulary.hpp"
#include "embed/static_embedder.hpp"
#include "hostile_text.hpp"
#include "text/utf8.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scrubjay;
  constexpr uint32_t kDim = 16;
  static const embed::BytePairTokenizer tokenizer = test_vocabulary::make();
  static const std::vector<float> rows(tokenizer.n_tokens() * kDim, 0.5f);
  static const embed::StaticEmbedder embedder(tokenizer, {rows.data(), tokenizer.n_tokens(), kDim});
  const std::string_view bytes(reinterpret_cast<const char*>(data), size < 4096 ? size : 4096);
  const std::vector<uint32_t> tokens = embedder.tokenize(bytes);
  std::vector<uint32_t> plain;
  tokenizer.tokenize_plainly(text::sanitize_utf8(bytes), plain);
  if (tokens != plain) std::abort();
  std::vector<float> vector(kDim);
  if (embedder.embed(bytes, vector) != !tokens.empty()) std::abort();
  if (!tokens.empty() && std::abs(vector[0] - 0.25f) > 1e-5f) std::abort();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return hostile::mutate(data, size, max_size, seed);
}
