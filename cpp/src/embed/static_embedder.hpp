// Static embedder: computes a text's vector from one vector per token.
//
// The sum of the rows of its tokens, normalised to length 1 (the direction of their mean), without a
// network. Rows are added in the order of the tokens, in single precision, so every instruction set gives
// the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "embed/byte_pair.hpp"
#include "embed/word_piece.hpp"

namespace scrubjay::embed {

// Rows of integers; a token's vector is its factor times its row.
struct ByteRows {
  const int8_t* rows;
  const float* factors;
};

// One row for each token, concatenated, in half or single precision or as bytes. The memory belongs to the
// caller and must outlive the embedder.
struct TokenTable {
  std::variant<const uint16_t*, const float*, ByteRows> rows;
  size_t n_rows = 0;
  uint32_t dim = 0;  // a multiple of 16
};

// Thread-safe: only scratch memory of the calling thread changes, so a warm call allocates nothing.
class StaticEmbedder {
 public:
  // Throws base::InvalidArgument: fewer rows than tokens, or a dimension other than 16, 32, ... 4096.
  StaticEmbedder(std::variant<BytePairTokenizer, WordPieceTokenizer> tokenizer, TokenTable table);

  [[nodiscard]] uint32_t dim() const noexcept { return table_.dim; }

  // Writes the unit vector of `text`, in which invalid UTF-8 counts as U+FFFD, to out[0, dim). Returns false,
  // and writes zeros, if the text has no tokens and thus no direction.
  [[nodiscard]] bool embed(std::string_view text, std::span<float> out) const;

  // Returns the ids of the tokens whose rows are averaged.
  [[nodiscard]] std::vector<uint32_t> tokenize(std::string_view text) const;

 private:
  std::variant<BytePairTokenizer, WordPieceTokenizer> tokenizer_;
  TokenTable table_;
};

}  // namespace scrubjay::embed
