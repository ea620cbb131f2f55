// Builds a tokenizer from a vocabulary and its merges.
#include <algorithm>
#include <bit>

#include "base/errors.hpp"
#include "embed/byte_pair.hpp"
#include "embed/byte_pair_tables.hpp"
#include "text/utf8.hpp"

namespace scrubjay::embed {
namespace {

constexpr size_t kMostTokens = size_t{1} << kIdBits;

// A power of two that is at most half full with n entries.
size_t table_size(size_t n) { return std::bit_ceil(std::max<size_t>(2 * n, 8)); }

[[noreturn]] void refuse(const std::string& name, size_t i, const std::string& message) {
  throw base::InvalidArgument(name + "[" + std::to_string(i) + "]: " + message);
}

// The byte of a token such as "<0x0A>", or -1.
int byte_of(std::string_view token) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

}  // namespace

BytePairTokenizer::BytePairTokenizer(std::span<const std::string_view> vocabulary,
                                     std::span<const Merge> merges, std::vector<AddedToken> added)
    : merges_(merges.begin(), merges.end()), added_(std::move(added)) {
  if (vocabulary.size() >= kMostTokens || merges.size() >= kMostTokens) {
    throw base::InvalidArgument("vocabulary, merges: expected fewer than 2097152 each, got " +
                                std::to_string(vocabulary.size()) + " and " + std::to_string(merges.size()));
  }
  begins_.push_back(0);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    if (text::valid_utf8_prefix(vocabulary[i]) != vocabulary[i].size())
      refuse("vocabulary", i, "expected UTF-8");
    strings_ += vocabulary[i];
    begins_.push_back(static_cast<uint32_t>(strings_.size()));
  }
  for (size_t i = 0; i < added_.size(); ++i) {
    if (added_[i].content.empty() || added_[i].id >= n_tokens())
      refuse("added", i, "expected a text and an id of the vocabulary, got " + std::to_string(added_[i].id));
    if (added_first_.find(added_[i].content[0]) == std::string::npos) added_first_ += added_[i].content[0];
  }
  std::stable_sort(added_.begin(), added_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.content.size() > b.content.size();  // of two at the same position the longer counts
  });
  index_characters();
  index_merges();
  index_boundaries();
  index_wholes();
}

void BytePairTokenizer::index_characters() {
  ascii_.fill(kNone);
  bytes_.fill(kNone);
  std::vector<Character> characters;
  for (uint32_t id = 0; id < n_tokens(); ++id) {
    const std::string_view string = token(id);
    if (const int byte = byte_of(string); byte >= 0) bytes_[static_cast<size_t>(byte)] = id;
    if (string.empty() || text::utf8_length(static_cast<unsigned char>(string[0])) != string.size()) continue;
    const char32_t character = text::decode_utf8(string, 0);
    if (character < 128) {
      ascii_[character] = id;
    } else {
      characters.push_back({character, id});
    }
  }
  if (const auto* missing = std::find(bytes_.begin(), bytes_.end(), kNone); missing != bytes_.end()) {
    throw base::InvalidArgument("vocabulary: expected a token <0x..> for each byte, missing for byte " +
                                std::to_string(missing - bytes_.begin()));
  }
  characters_.assign(table_size(characters.size()), {0, kNone});
  const size_t mask = characters_.size() - 1;
  for (const Character& entry : characters) {
    size_t i = character_slot(entry.character, mask);
    while (characters_[i].id != kNone && characters_[i].character != entry.character) i = (i + 1) & mask;
    characters_[i] = entry;
  }
}

void BytePairTokenizer::index_merges() {
  pairs_.assign(table_size(merges_.size()), UINT64_MAX);
  const size_t mask = pairs_.size() - 1;
  for (size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [left, right, merged] = merges_[rank];
    if (left >= n_tokens() || right >= n_tokens() || merged >= n_tokens()) {
      refuse("merges", rank,
             "expected ids below " + std::to_string(n_tokens()) + ", got " +
                 std::to_string(std::max({left, right, merged})));
    }
    const std::string_view whole = token(merged);
    if (whole.size() != token(left).size() + token(right).size() || !whole.starts_with(token(left)) ||
        !whole.ends_with(token(right)))
      refuse("merges", rank, "expected the concatenation of both tokens, got another token");
    if (byte_of(token(left)) >= 0 || byte_of(token(right)) >= 0)
      refuse("merges", rank, "expected tokens other than those of single bytes, got one of a byte");
    const uint64_t key = pair_key(left, right);
    size_t i = pair_slot(key, mask);
    while (pairs_[i] != UINT64_MAX && pairs_[i] >> kIdBits != key) i = (i + 1) & mask;
    pairs_[i] = (key << kIdBits) | rank;
  }
}

void BytePairTokenizer::index_boundaries() {
  for (const Merge& merge : merges_) {
    const std::string_view whole = token(merge.merged);
    unsigned left = kClasses;
    for (size_t at = 0; at < whole.size(); at += text::utf8_length(static_cast<unsigned char>(whole[at]))) {
      const unsigned right = class_of(text::decode_utf8(whole, at));
      if (left != kClasses) joins_[left][right / 64] |= uint64_t{1} << (right % 64);
      left = right;
    }
  }
}

void BytePairTokenizer::index_wholes() {
  Scratch scratch;
  std::vector<uint32_t> found, tokens;
  for (uint32_t id = 0; id < n_tokens(); ++id) {
    tokens.clear();
    scratch.symbols.clear();
    split(token(id), false, scratch.symbols);
    if (scratch.symbols.size() <= kFew) {
      merge_few(scratch, tokens);
    } else {
      merge_many(scratch, tokens);
    }
    if (tokens.size() == 1 && tokens[0] == id) found.push_back(id);
  }
  wholes_.assign(table_size(found.size()), {0, kNone});
  const size_t mask = wholes_.size() - 1;
  for (const uint32_t id : found) {
    std::string_view bytes = token(id);
    const bool marked = bytes.starts_with(kMarkerBytes);
    if (marked) bytes.remove_prefix(kMarkerBytes.size());
    const uint64_t hash = hash_piece(bytes, marked);
    size_t i = static_cast<size_t>(hash) & mask;
    while (wholes_[i].id != kNone) i = (i + 1) & mask;
    wholes_[i] = {static_cast<uint32_t>(hash >> 32), id};
  }
}

}  // namespace scrubjay::embed
