// Byte pairs: tokenises a text by byte pair encoding with a model's vocabulary.
//
// Byte pair encoding (Sennrich et al. 2016) as in the Llama family: a marker (U+2581) is put before the text
// and replaces every space; there is no other normalisation or splitting; a character that is not in the
// vocabulary becomes the tokens of its bytes. A piece starts as its characters, and the pair of neighbours
// with the best merge (first in the list of merges, then furthest left) is merged until no merge applies.
//
// Equivalent to treating the whole text as one piece, which tokenize_plainly() does. Since no merge reaches
// across two characters that are adjacent in no mergeable token, the text is split there, and a piece that is
// one token, like most words, is found by a lookup.
//
// Immutable, and therefore safe for any number of threads, each with its own Scratch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::embed {

struct Merge {
  uint32_t left, right, merged;  // token ids; `merged` is the concatenation of the others
};

// A token that is found in the raw text first ("<s>"); the text before and after it is tokenised separately.
struct AddedToken {
  std::string content;
  uint32_t id;
};

class BytePairTokenizer {
 public:
  // Reusable buffers.
  struct Scratch {
    struct Candidate {
      uint32_t rank;
      uint32_t at;
    };
    struct Symbol {
      uint32_t token;
      uint32_t previous, next;
      bool gone;
    };
    std::vector<uint32_t> symbols, ranks;
    std::vector<Candidate> queue;
    std::vector<Symbol> chain;
  };

  // Takes the vocabulary by id, and the merges, best first. Throws base::InvalidArgument: an id beyond the
  // vocabulary, a merge that is not the concatenation of its parts, a missing token "<0x..>" for some byte,
  // or text that is not UTF-8.
  BytePairTokenizer(std::span<const std::string_view> vocabulary, std::span<const Merge> merges,
                    std::vector<AddedToken> added);

  // Appends the ids of the tokens of `text`, which is well-formed UTF-8. Costs about 20 ns for a word that is
  // one token, and n log n in the length of the longest piece.
  void tokenize(std::string_view text, Scratch& scratch, std::vector<uint32_t>& out) const;

  // The same result by the definition, in quadratic time: the reference.
  void tokenize_plainly(std::string_view text, std::vector<uint32_t>& out) const;

  [[nodiscard]] size_t n_tokens() const noexcept { return begins_.size() - 1; }
  [[nodiscard]] std::string_view token(uint32_t id) const noexcept {
    return std::string_view(strings_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kFew = 32;  // up to this many symbols a scan of all pairs beats a queue
  // Character classes for boundaries: an ASCII character is its own class.
  static constexpr unsigned kOther = 128, kMarker = 129, kUnknown = 130, kClasses = 131;

  // Tokenises a part of a text without added tokens; `marked`: preceded by a marker that is not in the bytes.
  void tokenize_part(std::string_view part, Scratch& scratch, std::vector<uint32_t>& out) const;
  void tokenize_piece(std::string_view bytes, bool marked, Scratch& scratch,
                      std::vector<uint32_t>& out) const;
  void merge_few(Scratch& scratch, std::vector<uint32_t>& out) const;
  void merge_many(Scratch& scratch, std::vector<uint32_t>& out) const;
  void split(std::string_view bytes, bool marked, std::vector<uint32_t>& symbols) const;
  template <class Part>
  void for_each_part(std::string_view text, std::vector<uint32_t>& out, Part&& part) const;

  [[nodiscard]] uint32_t find_character(char32_t character) const noexcept;
  [[nodiscard]] uint32_t find_rank(uint32_t left, uint32_t right) const noexcept;
  [[nodiscard]] uint32_t find_whole(std::string_view bytes, bool marked) const noexcept;
  [[nodiscard]] unsigned class_of(char32_t character) const noexcept;
  [[nodiscard]] bool joins(unsigned left, unsigned right) const noexcept {
    return ((joins_[left][right / 64] >> (right % 64)) & 1u) != 0;
  }

  void index_characters();
  void index_merges();
  void index_boundaries();
  void index_wholes();

  std::string strings_;  // of all tokens, concatenated
  std::vector<uint32_t> begins_;
  std::vector<Merge> merges_;
  std::vector<AddedToken> added_;  // longer ones first
  std::string added_first_;        // the first bytes of the added tokens
  std::array<uint32_t, 128> ascii_{};
  std::array<uint32_t, 256> bytes_{};
  struct Character {
    char32_t character;
    uint32_t id;
  };
  std::vector<Character> characters_;  // open addressing
  std::vector<uint64_t> pairs_;        // open addressing: left, right and rank, 21 bits each
  struct Whole {
    uint32_t tag;
    uint32_t id;
  };
  std::vector<Whole> wholes_;  // open addressing: pieces that are one token
  std::array<std::array<uint64_t, 3>, kClasses> joins_{};
};

}  // namespace scrubjay::embed
