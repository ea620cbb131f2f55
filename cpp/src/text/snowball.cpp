#include "text/snowball.hpp"

#include <algorithm>

#include "text/snowball_word.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text::snowball {
namespace {

void append_utf8(char32_t c, std::string& out) {
  const auto add = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto add_low_bits = [&](unsigned shift) { add(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xc0 | (c >> 6));
    add_low_bits(0);
  } else if (c < 0x10000) {
    add(0xe0 | (c >> 12));
    add_low_bits(6);
    add_low_bits(0);
  } else {
    add(0xf0 | (c >> 18));
    add_low_bits(12);
    add_low_bits(6);
    add_low_bits(0);
  }
}

}  // namespace

const Program* find_program(std::string_view language) noexcept {
  const std::span<const Program> programs = all_programs();
  const auto position = std::find_if(programs.begin(), programs.end(),
                                     [&](const Program& program) { return program.language == language; });
  return position == programs.end() ? nullptr : &*position;
}

std::string language_names() {
  std::string names;
  for (const Program& program : all_programs()) {
    if (!names.empty()) names += ", ";
    names += program.language;
  }
  return names;
}

Stemmer::Stemmer() = default;
Stemmer::~Stemmer() = default;
Stemmer::Stemmer(Stemmer&&) noexcept = default;
Stemmer& Stemmer::operator=(Stemmer&&) noexcept = default;

void Stemmer::stem(const Program& program, std::string_view word, std::string& out) {
  out.assign(word);
  if (word.size() > kMostBytes) return;
  if (!word_) word_ = std::make_unique<Word>();
  word_->letters.clear();
  for (size_t at = 0; at < word.size(); at += utf8_length(static_cast<unsigned char>(word[at])))
    word_->letters.push_back(decode_utf8(word, at));
  word_->begin();
  program.stem(*word_);
  if (word_->broken) return;
  out.clear();
  for (const char32_t c : word_->letters) append_utf8(c, out);
}

size_t Stemmer::memory_bytes() const noexcept {
  return word_ ? sizeof(Word) + word_->letters.capacity() * sizeof(char32_t) : 0;
}

}  // namespace scrubjay::text::snowball
