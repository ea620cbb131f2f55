// Word pieces: tokenises a text by WordPiece with a model's vocabulary.
//
// WordPiece (Wu et al. 2016) as in BERT's uncased models:
//  1. Ill-formed UTF-8 becomes U+FFFD.
//  2. ASCII spaces and control characters separate words. An ASCII punctuation mark or symbol is a word of
//     its own. The rest is folded (case and, if it is not all ASCII, accents: text/fold.hpp) and split again,
//     since NFKC turns other characters into ASCII; there, a non-ASCII character that is not a letter, digit
//     or mark is a word of its own, and so is a character of a script without spaces.
//  3. Only the first kMostWordBytes bytes of a word count.
//  4. A word is read from the left: its longest prefix that is a token, then the longest prefix of the rest
//     that is a token after "##", and so on. A character with which no token begins there is skipped.
// Reference: tests/reference/word_piece.py, in plain Python.
//
// Immutable, and therefore safe for any number of threads, each with its own Scratch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/fold.hpp"

namespace scrubjay::embed {

class WordPieceTokenizer {
 public:
  static constexpr size_t kMostWordBytes = 100;
  static constexpr size_t kMostTokens = size_t{1} << 21;

  // Reusable buffers.
  struct Scratch {
    text::Folder folder;
    std::string word;
    [[nodiscard]] size_t memory_bytes() const noexcept { return folder.memory_bytes() + word.capacity(); }
  };

  // Takes the vocabulary by id; of a duplicate token the first id is used. Throws base::InvalidArgument: no
  // tokens or too many, or a token that is empty or not UTF-8.
  explicit WordPieceTokenizer(std::span<const std::string_view> vocabulary);

  // Appends the ids of the tokens of `text`, which is well-formed UTF-8. Costs one lookup for a word that is
  // one token, and at most kMostWordBytes lookups per byte.
  void tokenize(std::string_view text, Scratch& scratch, std::vector<uint32_t>& out) const;

  [[nodiscard]] size_t n_tokens() const noexcept { return begins_.size() - 1; }
  [[nodiscard]] std::string_view token(uint32_t id) const noexcept {
    return std::string_view(strings_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void tokenize_run(std::string_view run, Scratch& scratch, std::vector<uint32_t>& out) const;
  void tokenize_folded(std::string_view run, std::vector<uint32_t>& out) const;
  void tokenize_word(std::string_view word, std::vector<uint32_t>& out) const;
  [[nodiscard]] uint32_t find(std::string_view bytes, bool continues) const noexcept;
  [[nodiscard]] std::string_view spelling(uint32_t id, bool continues) const noexcept;

  std::string strings_;  // of all tokens, concatenated
  std::vector<uint32_t> begins_;
  struct Slot {
    uint32_t tag;
    uint32_t id;
  };
  std::vector<Slot> slots_;          // open addressing: whole tokens and those after "##"
  std::array<size_t, 2> longest_{};  // bytes of the longest token; [1]: of those after "##", without it
};

}  // namespace scrubjay::embed
