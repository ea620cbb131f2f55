#include "engine/context.hpp"

#include <charconv>
#include <cstdint>

namespace scrubjay::engine {
namespace {

constexpr std::string_view kPrefix = "{\"context\":\"";

void append_utf8(uint32_t code, std::string& out) {
  const auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {  // including half a surrogate pair: the analyzer reads it as U+FFFD
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

// Reads the four hexadecimal digits after \u, at `at`.
std::optional<uint32_t> code_unit(std::string_view text, size_t at) {
  uint32_t unit = 0;
  if (at + 4 > text.size()) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, unit, 16);
  if (error != std::errc() || end != text.data() + at + 4) return std::nullopt;
  return unit;
}

// Appends the character of a JSON escape; `at` is the position after its backslash. Returns the length of the
// escape, 0 if it is invalid.
size_t append_escape(std::string_view text, size_t at, std::string& out) {
  switch (text[at]) {
    case '"':
    case '\\':
    case '/':
      out.push_back(text[at]);
      return 1;
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      out.push_back(' ');  // each of them is a separator
      return 1;
    case 'u':
      break;
    default:
      return 0;
  }
  const std::optional<uint32_t> first = code_unit(text, at + 1);
  if (!first) return 0;
  if (*first >= 0xd800 && *first < 0xdc00 && text.substr(at + 5, 2) == "\\u") {
    const std::optional<uint32_t> second = code_unit(text, at + 7);
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      append_utf8(0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00), out);
      return 11;
    }
  }
  append_utf8(*first, out);
  return 5;
}

}  // namespace

std::string_view context_of(std::optional<std::string_view> payload, std::string& buffer) {
  if (!payload || !payload->starts_with(kPrefix)) return {};
  const std::string_view text = payload->substr(kPrefix.size());
  const size_t end = text.find_first_of("\"\\");
  if (end == std::string_view::npos) return {};
  if (text[end] == '"') return end <= kMaxContextBytes ? text.substr(0, end) : std::string_view();
  buffer.assign(text.substr(0, end));
  for (size_t at = end; at < text.size() && buffer.size() <= kMaxContextBytes;) {
    if (text[at] == '"') return buffer;
    if (text[at] != '\\') {
      buffer.push_back(text[at++]);
      continue;
    }
    const size_t length = at + 1 < text.size() ? append_escape(text, at + 1, buffer) : 0;
    if (length == 0) return {};
    at += 1 + length;
  }
  return {};
}

}  // namespace scrubjay::engine
