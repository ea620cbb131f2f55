#include "text/utf8.hpp"

#include <cstring>

namespace scrubjay::text {
namespace {

struct Subpart {
  size_t length;  // of the well-formed character, or of the maximal ill-formed subpart
  bool well_formed;
};

// Table 3-7 of the Unicode standard: the second byte of E0, ED, F0 and F4 is restricted (overlong forms,
// surrogates, beyond U+10FFFF). An ill-formed subpart ends before the first byte that cannot continue it.
Subpart next_subpart(std::string_view bytes, size_t at) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const size_t length = utf8_length(lead);
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= bytes.size()) return {i, false};
    const unsigned char next = byte(i);
    const bool fits = i == 1 ? next >= low && next <= high : (next & 0xc0) == 0x80;
    if (!fits) return {i, false};
  }
  return {length, true};
}

size_t ascii_prefix(std::string_view bytes, size_t at) noexcept {
  while (at + 32 <= bytes.size()) {
    uint64_t words[4];
    std::memcpy(words, bytes.data() + at, sizeof words);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080ull) != 0) break;
    at += sizeof words;
  }
  while (at + 8 <= bytes.size()) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    if ((word & 0x8080808080808080ull) != 0) break;
    at += 8;
  }
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view bytes) noexcept {
  size_t at = 0;
  while (at = ascii_prefix(bytes, at), at < bytes.size()) {
    const Subpart subpart = next_subpart(bytes, at);
    if (!subpart.well_formed) break;
    at += subpart.length;
  }
  return at;
}

void append_sanitized(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const size_t valid = valid_utf8_prefix(bytes);
    out.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    out.append("\xef\xbf\xbd");
    bytes.remove_prefix(next_subpart(bytes, 0).length);
  }
}

std::string sanitize_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  append_sanitized(bytes, out);
  return out;
}

}  // namespace scrubjay::text
