#include "embed/word_piece.hpp"

#include <algorithm>
#include <bit>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/seeded_hash.hpp"
#include "text/characters.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace scrubjay::embed {
namespace {

constexpr std::string_view kContinues = "##";
constexpr size_t kBytesALook = size_t{1} << 16;  // some milliseconds

enum class Ascii : uint8_t { separates, alone, in_word };

constexpr Ascii ascii_class(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  if (byte <= 0x20 || byte == 0x7f) return Ascii::separates;
  if (byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
      (byte >= 'a' && byte <= 'z'))
    return Ascii::in_word;
  return Ascii::alone;
}

// Calls word(view) for the text between ASCII separators, and for each ASCII character that is a word
// of its own.
template <class Word>
void split_ascii(std::string_view text, Word&& word) {
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    const Ascii kind = at < text.size() ? ascii_class(text[at]) : Ascii::separates;
    if (kind == Ascii::in_word) continue;
    if (begin < at) word(text.substr(begin, at - begin));
    if (kind == Ascii::alone) word(text.substr(at, 1));
    begin = at + 1;
  }
}

uint64_t hash_word_piece(std::string_view bytes, bool continues) noexcept {
  return base::seeded_hash64(bytes) ^ (continues ? base::process_hash_seed.masks[0] : 0);
}

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(std::span<const std::string_view> vocabulary) {
  if (vocabulary.empty() || vocabulary.size() > kMostTokens) {
    throw base::InvalidArgument("vocabulary: expected 1 to " + std::to_string(kMostTokens) + " tokens, got " +
                                std::to_string(vocabulary.size()));
  }
  begins_.reserve(vocabulary.size() + 1);
  begins_.push_back(0);
  for (const std::string_view token : vocabulary) {
    if (token.empty() || text::valid_utf8_prefix(token) != token.size() ||
        strings_.size() + token.size() > UINT32_MAX) {
      throw base::InvalidArgument("vocabulary[" + std::to_string(begins_.size() - 1) +
                                  "]: expected a non-empty token in UTF-8");
    }
    strings_ += token;
    begins_.push_back(static_cast<uint32_t>(strings_.size()));
  }
  slots_.assign(std::bit_ceil(2 * vocabulary.size()), Slot{0, kNone});
  const size_t mask = slots_.size() - 1;
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    const bool continues = token(id).size() > kContinues.size() && token(id).starts_with(kContinues);
    const std::string_view bytes = spelling(id, continues);
    longest_[continues] = std::max(longest_[continues], bytes.size());
    if (find(bytes, continues) != kNone) continue;
    const uint64_t hash = hash_word_piece(bytes, continues);
    size_t slot = static_cast<size_t>(hash) & mask;
    while (slots_[slot].id != kNone) slot = (slot + 1) & mask;
    slots_[slot] = {static_cast<uint32_t>(hash >> 32), id};
  }
}

std::string_view WordPieceTokenizer::spelling(uint32_t id, bool continues) const noexcept {
  return token(id).substr(continues ? kContinues.size() : 0);
}

uint32_t WordPieceTokenizer::find(std::string_view bytes, bool continues) const noexcept {
  const size_t mask = slots_.size() - 1;
  const uint64_t hash = hash_word_piece(bytes, continues);
  for (size_t slot = static_cast<size_t>(hash) & mask; slots_[slot].id != kNone; slot = (slot + 1) & mask) {
    if (slots_[slot].tag != static_cast<uint32_t>(hash >> 32)) continue;
    const std::string_view whole = token(slots_[slot].id);
    const bool other = whole.size() > kContinues.size() && whole.starts_with(kContinues);
    if (other == continues && spelling(slots_[slot].id, continues) == bytes) return slots_[slot].id;
  }
  return kNone;
}

void WordPieceTokenizer::tokenize(std::string_view text, Scratch& scratch, std::vector<uint32_t>& out) const {
  size_t next_look = kBytesALook;
  split_ascii(text, [&](std::string_view run) {
    const auto at = static_cast<size_t>(run.data() - text.data());
    if (at >= next_look) {
      base::interruption_point();
      next_look = at + kBytesALook;
    }
    tokenize_run(run, scratch, out);
  });
}

void WordPieceTokenizer::tokenize_run(std::string_view run, Scratch& scratch,
                                      std::vector<uint32_t>& out) const {
  if (!text::is_ascii(run)) {
    const std::string_view folded = scratch.folder.fold(run);
    split_ascii(folded, [&](std::string_view part) { tokenize_folded(part, out); });
    return;
  }
  run = run.substr(0, kMostWordBytes);
  scratch.word.resize(run.size());
  std::transform(run.begin(), run.end(), scratch.word.begin(), text::to_lower);
  tokenize_word(scratch.word, out);
}

// Words of a run without ASCII separators, in which non-ASCII characters may be words of their own.
void WordPieceTokenizer::tokenize_folded(std::string_view run, std::vector<uint32_t>& out) const {
  size_t begin = 0;
  for (size_t at = 0; at < run.size();) {
    const size_t length = text::utf8_length(static_cast<unsigned char>(run[at]));
    if (length > 1) {
      const char32_t character = text::decode_utf8(run, at);
      const text::WordClass kind = text::word_class(character);
      if (text::is_bigram_script(character) ||
          (kind != text::WordClass::letter && kind != text::WordClass::extends)) {
        if (begin < at) tokenize_word(run.substr(begin, at - begin), out);
        tokenize_word(run.substr(at, length), out);
        begin = at + length;
      }
    }
    at += length;
  }
  if (begin < run.size()) tokenize_word(run.substr(begin), out);
}

void WordPieceTokenizer::tokenize_word(std::string_view word, std::vector<uint32_t>& out) const {
  word = text::cut_utf8(word, kMostWordBytes);
  for (size_t at = 0; at < word.size();) {
    const bool continues = at > 0;
    uint32_t id = kNone;
    size_t end = std::min(word.size(), at + longest_[continues]);
    for (; end > at; --end) {
      id = find(word.substr(at, end - at), continues);
      if (id != kNone) break;
    }
    if (id == kNone) {
      at += text::utf8_length(static_cast<unsigned char>(word[at]));
    } else {
      out.push_back(id);
      at = end;
    }
  }
}

}  // namespace scrubjay::embed
