#include "text/fold.hpp"

#include <algorithm>

#include "text/characters.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text {
namespace {

void lower_ascii(std::string_view word, std::string& out) {
  out.resize(word.size());
  std::transform(word.begin(), word.end(), out.begin(), to_lower);
}

// In place: removes marks, and spells out ligatures (never longer than the letter).
void strip_marks(std::string& text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(static_cast<unsigned char>(text[at]));
    const char32_t c = decode_utf8(text, at);
    if (const std::string_view plain = plain_letter(c); !plain.empty()) {
      for (const char letter : plain) text[end++] = letter;
    } else if (!is_stripped(c)) {
      for (size_t i = 0; i < length; ++i) text[end++] = text[at + i];
    }
    at += length;
  }
  text.resize(end);
}

}  // namespace

bool is_ascii(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string_view Folder::fold_case_only(std::string_view word) {
  if (is_ascii(word)) {
    lower_ascii(word, cased_);
  } else {
    fold_case(word, buffer_);
    nfkc(buffer_, cased_);
  }
  return cased_;
}

std::string_view Folder::fold(std::string_view word) {
  if (is_ascii(word)) {
    lower_ascii(word, folded_);
  } else {
    fold_case(word, buffer_);
    nfkd(buffer_, decomposed_);
    strip_marks(decomposed_);
    nfkc(decomposed_, folded_);
  }
  return folded_;
}

size_t Folder::memory_bytes() const noexcept {
  return cased_.capacity() + buffer_.capacity() + decomposed_.capacity() + folded_.capacity();
}

}  // namespace scrubjay::text
