#include "text/runs.hpp"

#include <algorithm>

#include "base/interruption.hpp"
#include "text/characters.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kBytesALook = size_t{1} << 14;  // between two interruption points

struct Replacement {
  std::string_view from;  // three bytes
  char to;
};

// SM and TM are separators, and not the last letters of the preceding word, as NFKC would make them.
constexpr Replacement kTradeMarks[] = {{"\u2120", ' '}, {"\u2122", ' '}};
constexpr Replacement kPunctuation[] = {{"\u2019", '\''}, {"\u2010", '-'}};

template <size_t n>
void replace(std::string& text, const Replacement (&replacements)[n]) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    char to = '\0';
    if (text[at] == '\xe2') {
      for (const Replacement& r : replacements) {
        if (text.compare(at, r.from.size(), r.from) == 0) to = r.to;
      }
    }
    text[end++] = to != '\0' ? to : text[at];
    at += to != '\0' ? 3 : 1;
  }
  text.resize(end);
}

// Lower-case ASCII letters, perhaps after one capital: by far the most frequent run, and
// not a compound.
bool is_plain_word(std::string_view run) noexcept {
  return (is_lower(run[0]) || is_upper(run[0])) && std::all_of(run.begin() + 1, run.end(), is_lower);
}

size_t end_of_digits(std::string_view text, size_t at) noexcept {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// 1,000 -> 1000. Only for well-formed groups: 1 to 3 digits, then groups of three; the commas
// of "1,2,3" separate.
void drop_thousands_commas(std::string& text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      text[end++] = text[at++];
      continue;
    }
    size_t chain_end = end_of_digits(text, at);
    bool well_formed = chain_end - at <= 3;
    while (chain_end + 1 < text.size() && text[chain_end] == ',' && is_digit(text[chain_end + 1])) {
      const size_t group_end = end_of_digits(text, chain_end + 1);
      well_formed = well_formed && group_end - chain_end == 4;
      chain_end = group_end;
    }
    for (; at < chain_end; ++at) {
      if (text[at] != ',' || !well_formed) text[end++] = text[at];
    }
  }
  text.resize(end);
}

}  // namespace

void RunTokens::add(std::string_view run, const TermRules& rules, Draft& draft, const Flush* flush) {
  if (is_plain_word(run)) {
    draft.add(terms_.plain_word(run, rules), TokenKind::word);
    return;
  }
  rules_ = &rules;
  draft_ = &draft;
  flush_ = flush;
  compound_.clear();
  overlong_ = false;
  pending_ = {};
  const std::string_view text = normalise(run);
  size_t next_look = kBytesALook;
  for (size_t at = 0; at < text.size();) {
    if (at >= next_look) {
      base::interruption_point();
      next_look = at + kBytesALook;
    }
    const uint8_t kind = byte_class(text[at]);
    size_t end = at + 1;
    if (kind == kJoiner) {
      while (end < text.size() && byte_class(text[end]) == kJoiner) ++end;
      add_joiners(text.substr(at, end - at));
    } else if ((kind & (kAlnum | kBeyondAscii)) != 0) {
      uint8_t seen = kind;
      while (end < text.size() && (byte_class(text[end]) & (kAlnum | kBeyondAscii)) != 0) {
        seen |= byte_class(text[end++]);
      }
      if ((seen & kBeyondAscii) != 0) {
        add_piece(text.substr(at, end - at));
      } else {
        add_word(text.substr(at, end - at));
      }
    } else {
      add_break();
    }
    at = end;
  }
  add_break();
}

std::string_view RunTokens::normalise(std::string_view run) {
  const bool ascii = is_ascii(run);
  if (ascii && run.find(',') == std::string_view::npos) return run;
  normal_.assign(run);
  if (!ascii) {
    if (valid_utf8_prefix(run) < run.size()) {
      normal_.clear();
      append_sanitized(run, normal_);
    }
    base::interruption_point();
    replace(normal_, kTradeMarks);
    base::interruption_point();
    if (!is_nfkc(normal_)) {
      sanitized_.swap(normal_);
      nfkc(sanitized_, normal_);
      if (normal_.size() > kMaxNormalBytes) {
        throw TextTooLarge(
            "expected at most " + std::to_string(kMaxNormalBytes) +
            " bytes between two ASCII separators once compatibility characters are spelled out, got "
            "more");
      }
    }
    base::interruption_point();
    replace(normal_, kPunctuation);
    base::interruption_point();
  }
  drop_thousands_commas(normal_);
  return normal_;
}

void RunTokens::add_joiners(std::string_view joiners) { pending_ = joiners; }

void RunTokens::add_word(std::string_view word) {
  if (!compound_.parts.empty() || overlong_) {
    if (!pending_.empty() && joins(pending_)) {
      if (!overlong_) {
        compound_.joiners.push_back(pending_);
        compound_.parts.push_back(word);
        if (compound_.parts.size() > kMaxParts) add_overlong();
      } else {
        draft_->add(terms_.word(word, *rules_), TokenKind::word);
        flush_if_large();
      }
      pending_ = {};
      return;
    }
    const std::string_view between = pending_;
    add_break();
    compound_.before = between;
  } else {
    compound_.before = pending_;
    pending_ = {};
  }
  compound_.parts.push_back(word);
}

// Adds the parts of an overlong compound as words; each further part is a word, too.
void RunTokens::add_overlong() {
  for (const std::string_view part : compound_.parts)
    draft_->add(terms_.word(part, *rules_), TokenKind::word);
  compound_.clear();
  overlong_ = true;
}

// Ends the current compound, if any.
void RunTokens::add_break() {
  if (!compound_.parts.empty()) {
    compound_.after = pending_;
    compound_tokens_.add(compound_, terms_, *rules_, *draft_);
  }
  compound_.clear();
  overlong_ = false;
  pending_ = {};
  flush_if_large();
}

void RunTokens::flush_if_large() {
  constexpr size_t kLarge = 4096;  // tokens
  if (flush_ && draft_->items().size() >= kLarge) (*flush_)(*draft_);
}

// Adds letters and digits with at least one non-ASCII character: stretches of bigram scripts, and words
// between them.
void RunTokens::add_piece(std::string_view piece) {
  size_t from = 0, next_look = kBytesALook;
  bool in_bigrams = false;
  for (size_t at = 0; at < piece.size();) {
    if (at >= next_look) {
      base::interruption_point();
      next_look = at + kBytesALook;
    }
    const char32_t c = decode_utf8(piece, at);
    const bool extends = c >= 0x80 && word_class(c) == WordClass::extends;
    const bool bigram = extends ? in_bigrams : is_bigram_script(c);
    if (bigram != in_bigrams) {
      if (at > from && in_bigrams) add_bigrams(piece.substr(from, at - from));
      if (at > from && !in_bigrams) add_words_of(piece.substr(from, at - from));
      from = at;
      in_bigrams = bigram;
    }
    at += utf8_length(static_cast<unsigned char>(piece[at]));
  }
  if (in_bigrams) {
    add_bigrams(piece.substr(from));
  } else {
    add_words_of(piece.substr(from));
  }
}

void RunTokens::add_words_of(std::string_view stretch) {
  word_segments(stretch, segments_);
  size_t at = 0, next_look = kBytesALook;
  for (const uint32_t length : segments_) {
    if (at >= next_look) {
      base::interruption_point();
      next_look = at + kBytesALook;
    }
    const std::string_view segment = stretch.substr(at, length);
    // An emoji that a zero-width joiner attaches to a word (rule WB3c) is not part of the word.
    bool is_word = false;
    size_t end = 0;
    while (end < segment.size()) {
      const WordClass kind = word_class(decode_utf8(segment, end));
      if (kind == WordClass::other) break;
      is_word = is_word || kind == WordClass::letter;
      end += utf8_length(static_cast<unsigned char>(segment[end]));
    }
    if (is_word) add_word(segment.substr(0, end));
    if (!is_word || end < segment.size()) add_break();
    at += length;
  }
}

void RunTokens::add_bigrams(std::string_view stretch) {
  add_break();
  const auto stripped = [&] {
    for (size_t i = 0; i < stretch.size(); i += utf8_length(static_cast<unsigned char>(stretch[i]))) {
      if (is_stripped(decode_utf8(stretch, i))) return true;
    }
    return false;
  };
  // These scripts have no case, and the stretch is in form NFKC: without a mark to remove,
  // folding changes nothing.
  if (stripped()) stretch = terms_.folded(stretch);
  units_.clear();
  for (size_t i = 0; i < stretch.size(); i += utf8_length(static_cast<unsigned char>(stretch[i]))) {
    if (units_.empty() || word_class(decode_utf8(stretch, i)) != WordClass::extends) {
      units_.push_back(static_cast<uint32_t>(i));
    }
  }
  units_.push_back(static_cast<uint32_t>(stretch.size()));
  const size_t n_units = units_.size() - 1;
  if (n_units == 1) draft_->add(stretch, TokenKind::word);
  for (size_t i = 0; i + 2 < units_.size(); ++i) {
    draft_->add(stretch.substr(units_[i], units_[i + 2] - units_[i]), TokenKind::word);
    flush_if_large();
  }
}

size_t RunTokens::memory_bytes() const noexcept {
  return terms_.memory_bytes() + compound_tokens_.memory_bytes() + sanitized_.capacity() +
         normal_.capacity() + (segments_.capacity() + units_.capacity()) * sizeof(uint32_t) +
         (compound_.parts.capacity() + compound_.joiners.capacity()) * sizeof(std::string_view);
}

}  // namespace scrubjay::text
