// Hostile words: strings and integers that collide under the fixed hash, as an attacker could choose them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "text/term_key.hpp"

namespace scrubjay::hostile {

// Word number i, of letters that no stemmer changes.
[[nodiscard]] inline std::string word(uint64_t i, size_t length) {
  constexpr char kLetters[] = "bcdfghjklmnpqrtv";
  std::string made(length, 'b');
  for (size_t at = 0; i != 0 && at < length; ++at, i >>= 4) made[at] = kLetters[i & 15];
  return made;
}

// The first n words for which agrees(word) holds, or the first n of all.
template <class Agrees>
[[nodiscard]] std::vector<std::string> words(size_t n, size_t length, Agrees&& agrees) {
  std::vector<std::string> found;
  for (uint64_t i = 0; found.size() < n; ++i) {
    std::string made = word(i, length);
    if (agrees(made)) found.push_back(std::move(made));
  }
  return found;
}

// Home of a term in a posting table without the secret of the process, as a fraction of 2^32.
[[nodiscard]] inline uint32_t fixed_home(std::string_view term) noexcept {
  return static_cast<uint32_t>(base::mix64(text::stored_term_key(term), 0x9e3779b97f4a7c15ull));
}
// Terms that agree in its first n_bits.
[[nodiscard]] inline std::vector<std::string> terms(size_t n, unsigned n_bits, size_t length) {
  return words(n, length, [&](const std::string& made) { return fixed_home(made) >> (32 - n_bits) == 0; });
}

// Byte strings with the fixed hash 0 for any i: their first word is a mask of the function.
[[nodiscard]] inline std::string swallowing(uint32_t i) {
  std::string bytes("\xdb\x28\xb4\xa0\xd1\x7e\x03\xe7");
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>((i >> shift) & 0xffu));
  return bytes;
}

}  // namespace scrubjay::hostile
