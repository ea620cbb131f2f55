#include "embed/static_embedder.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/errors.hpp"
#include "simd/kernels.hpp"
#include "text/utf8.hpp"

namespace scrubjay::embed {
namespace {

using Tokenizer = std::variant<BytePairTokenizer, WordPieceTokenizer>;

struct Scratch {
  BytePairTokenizer::Scratch pairs;
  WordPieceTokenizer::Scratch pieces;
  std::vector<uint32_t> tokens;
  std::string sanitized;
};

// A thread that once embedded a book need not keep its tokens forever.
constexpr size_t kMostKept = size_t{1} << 16;

Scratch& thread_scratch() {
  thread_local Scratch scratch;
  if (scratch.tokens.capacity() > kMostKept || scratch.pairs.symbols.capacity() > kMostKept ||
      scratch.pieces.memory_bytes() > kMostKept || scratch.sanitized.capacity() > kMostKept)
    scratch = {};
  return scratch;
}

std::span<const uint32_t> tokenize_into(Scratch& scratch, const Tokenizer& tokenizer, std::string_view text) {
  if (text::valid_utf8_prefix(text) != text.size()) {
    scratch.sanitized.clear();
    text::append_sanitized(text, scratch.sanitized);
    text = scratch.sanitized;
  }
  scratch.tokens.clear();
  if (const auto* pairs = std::get_if<BytePairTokenizer>(&tokenizer)) {
    pairs->tokenize(text, scratch.pairs, scratch.tokens);
  } else {
    std::get<WordPieceTokenizer>(tokenizer).tokenize(text, scratch.pieces, scratch.tokens);
  }
  return scratch.tokens;
}

}  // namespace

StaticEmbedder::StaticEmbedder(Tokenizer tokenizer, TokenTable table)
    : tokenizer_(std::move(tokenizer)), table_(table) {
  if (table_.dim == 0 || table_.dim > 4096 || table_.dim % simd::kLaneCount != 0) {
    throw base::InvalidArgument("table: expected rows of 16, 32, ... 4096 numbers, got " +
                                std::to_string(table_.dim));
  }
  const size_t n_tokens = std::visit([](const auto& any) { return any.n_tokens(); }, tokenizer_);
  if (table_.n_rows < n_tokens) {
    throw base::InvalidArgument("table: expected a row for each of " + std::to_string(n_tokens) +
                                " tokens, got " + std::to_string(table_.n_rows));
  }
}

bool StaticEmbedder::embed(std::string_view text, std::span<float> out) const {
  const simd::Kernels& kernels = simd::kernels();
  const std::span<const uint32_t> tokens = tokenize_into(thread_scratch(), tokenizer_, text);
  if (const auto* halves = std::get_if<const uint16_t*>(&table_.rows)) {
    kernels.sum_rows_f16(*halves, tokens.data(), tokens.size(), table_.dim, out.data());
  } else if (const auto* singles = std::get_if<const float*>(&table_.rows)) {
    kernels.sum_rows_f32(*singles, tokens.data(), tokens.size(), table_.dim, out.data());
  } else {
    const ByteRows bytes = std::get<ByteRows>(table_.rows);
    kernels.sum_rows_i8(bytes.rows, bytes.factors, tokens.data(), tokens.size(), table_.dim, out.data());
  }
  const float length = std::sqrt(kernels.dot_f32_f32(out.data(), out.data(), table_.dim));
  if (!(length > 0.0f) || !std::isfinite(length)) {
    std::fill(out.begin(), out.end(), 0.0f);
    return false;
  }
  for (float& element : out) element /= length;
  return true;
}

std::vector<uint32_t> StaticEmbedder::tokenize(std::string_view text) const {
  const std::span<const uint32_t> tokens = tokenize_into(thread_scratch(), tokenizer_, text);
  return {tokens.begin(), tokens.end()};
}

}  // namespace scrubjay::embed
