// Checks that sanitize_utf8 always gives well-formed text, preserves well-formed text, and agrees with itself
// on pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/utf8.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scrubjay::text;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text = sanitize_utf8(bytes);
  const size_t valid = valid_utf8_prefix(bytes);
  if (valid_utf8_prefix(text) != text.size()) std::abort();
  if (text.substr(0, valid) != bytes.substr(0, valid)) std::abort();
  if ((valid == size) != (text == bytes)) std::abort();
  if (sanitize_utf8(text) != text) std::abort();
  if (text.size() > 3 * size) std::abort();
  for (size_t at = 0; at < text.size(); at += utf8_length(static_cast<unsigned char>(text[at]))) {
    if (decode_utf8(text, at) > 0x10ffff) std::abort();
  }
  return 0;
}
