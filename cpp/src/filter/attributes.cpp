#include "filter/attributes.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/decimal.hpp"
#include "filter/iso_time.hpp"

namespace scrubjay::filter {

int64_t sortable_real(double value) noexcept {
  const auto bits = std::bit_cast<int64_t>(value + 0.0);
  return bits >= 0 ? bits : bits ^ std::numeric_limits<int64_t>::max();
}

double unsortable_real(int64_t value) noexcept {
  return std::bit_cast<double>(value >= 0 ? value : value ^ std::numeric_limits<int64_t>::max());
}

namespace {

// A cursor over JSON text. Each function returns false if the text cannot be JSON.
class JsonReader {
 public:
  JsonReader(std::string_view text, Attributes& out) noexcept
      : at_(text.data()), end_(text.data() + text.size()), out_(out) {}

  bool document() {
    if (!begin('{')) return false;
    for (bool first = true; !take('}'); first = false) {
      std::string_view key;
      if ((!first && !take(',')) || !string(key) || !take(':')) return false;
      skip_spaces();
      if (key == "metadata" && at_ != end_ && *at_ == '{') {
        if (!members()) return false;
      } else if (key == "created_at" || key == "expires_at") {
        if (!time(key)) return false;
      } else if (!skip_value()) {
        return false;
      }
    }
    skip_spaces();
    return at_ == end_;
  }

 private:
  void skip_spaces() noexcept {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool begin(char wanted) noexcept { return take(wanted); }
  bool take(char wanted) noexcept {
    skip_spaces();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view wanted) noexcept {
    if (static_cast<size_t>(end_ - at_) < wanted.size() || std::string_view(at_, wanted.size()) != wanted)
      return false;
    at_ += wanted.size();
    return true;
  }

  bool members() {
    if (!take('{')) return false;
    for (bool first = true; !take('}'); first = false) {
      Attribute attribute;
      bool present = true;
      if ((!first && !take(',')) || !string(attribute.field) || !take(':') || !value(attribute, present))
        return false;
      if (present) out_.all.push_back(attribute);
    }
    return true;
  }

  bool value(Attribute& attribute, bool& present) {
    skip_spaces();
    if (at_ == end_) return false;
    switch (*at_) {
      case '"':
        attribute.kind = Kind::string;
        return string(attribute.text);
      case '[':
        attribute.kind = Kind::list;
        return list(attribute);
      case '{':
        attribute.kind = Kind::other;
        return skip_value();
      case 'n':
        present = false;
        return word("null");
      case 't':
      case 'f':
        attribute.kind = Kind::boolean;
        attribute.number = *at_ == 't' ? 1 : 0;
        return word(*at_ == 't' ? "true" : "false");
      default:
        return number(attribute);
    }
  }

  bool number(Attribute& attribute) {
    const char* const begin = at_;
    bool integer = true;
    for (; at_ != end_; ++at_) {
      const char c = *at_;
      if (c == '.' || c == 'e' || c == 'E') {
        integer = false;
      } else if (!(c >= '0' && c <= '9') && c != '-' && c != '+') {
        break;
      }
    }
    if (integer) {
      const auto [end, error] = std::from_chars(begin, at_, attribute.number);
      if (end != at_ || error == std::errc::invalid_argument) return false;
      if (error == std::errc()) {
        attribute.kind = Kind::integer;
        if (attribute.number == std::numeric_limits<int64_t>::min()) {  // columns use this value for "absent"
          attribute.kind = Kind::real;
          attribute.number = sortable_real(-0x1p63);
        }
      }
      return true;  // beyond 64 bits: other
    }
    double real = 0.0;
    const auto [end, error] = base::parse_real(begin, at_, real);
    if (end != at_ || error == std::errc::invalid_argument) return false;
    if (error == std::errc() && std::isfinite(real)) {
      attribute.kind = Kind::real;
      attribute.number = sortable_real(real);
    }
    return true;
  }

  bool list(Attribute& attribute) {
    if (!take('[')) return false;
    attribute.first = static_cast<uint32_t>(out_.elements.size());
    for (bool first = true; !take(']'); first = false) {
      if (!first && !take(',')) return false;
      skip_spaces();
      if (at_ != end_ && *at_ == '"') {
        if (!string(out_.elements.emplace_back())) return false;
      } else if (!skip_value()) {
        return false;
      }
    }
    attribute.n = static_cast<uint32_t>(out_.elements.size()) - attribute.first;
    return true;
  }

  bool time(std::string_view field) {
    if (at_ == end_ || *at_ != '"') return skip_value();
    std::string_view text;
    if (!string(text)) return false;
    Attribute attribute;
    attribute.field = field;
    attribute.kind = Kind::time;
    if (parse_iso_time(text, attribute.number)) out_.all.push_back(attribute);
    return true;
  }

  // Returns a view into the payload, or into out.unescaped if there are escapes.
  bool string(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
    if (at_ == end_) return false;
    if (*at_ == '"') {
      text = {begin, static_cast<size_t>(at_ - begin)};
      ++at_;
      return true;
    }
    std::string& plain = out_.unescaped.emplace_back(begin, at_);
    while (at_ != end_ && *at_ != '"') {
      if (*at_ != '\\') {
        plain += *at_++;
        continue;
      }
      if (++at_ == end_ || !escape(plain)) return false;
    }
    if (at_ == end_) return false;
    ++at_;
    text = plain;
    return true;
  }

  bool escape(std::string& plain) {
    const char c = *at_++;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        plain += c;
        return true;
      case 'b':
        plain += '\b';
        return true;
      case 'f':
        plain += '\f';
        return true;
      case 'n':
        plain += '\n';
        return true;
      case 'r':
        plain += '\r';
        return true;
      case 't':
        plain += '\t';
        return true;
      case 'u':
        break;
      default:
        return false;
    }
    uint32_t code = 0;
    if (!hex(code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
      const char* const back = at_;
      uint32_t low = 0;
      at_ += 2;
      if (!hex(low)) return false;
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = back;
      }
    }
    put_utf8(code, plain);
    return true;
  }

  bool hex(uint32_t& code) noexcept {
    if (end_ - at_ < 4) return false;
    const auto [end, error] = std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc() || end != at_ + 4) return false;
    at_ += 4;
    return true;
  }

  // Lone surrogates, too, as in Python's "surrogatepass".
  static void put_utf8(uint32_t code, std::string& plain) {
    const auto tail = [&](unsigned shift) { plain += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
      plain += static_cast<char>(code);
    } else if (code < 0x800) {
      plain += static_cast<char>(0xc0 | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      plain += static_cast<char>(0xe0 | (code >> 12));
      tail(6);
      tail(0);
    } else {
      plain += static_cast<char>(0xf0 | (code >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  // Skips any value: counts nesting and ignores the content.
  bool skip_value() {
    skip_spaces();
    size_t depth = 0;
    do {
      skip_spaces();
      if (at_ == end_) return false;
      if (*at_ == '"') {
        if (!skip_string()) return false;
        continue;
      }
      if (*at_ == '{' || *at_ == '[') ++depth;
      if (*at_ == '}' || *at_ == ']') {
        if (depth == 0) return false;
        --depth;
      }
      if (depth == 0 && *at_ != '}' && *at_ != ']') {  // a number or a word
        while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != ' ' && *at_ != '\n') ++at_;
        return true;
      }
      ++at_;
    } while (depth != 0);
    return true;
  }
  bool skip_string() noexcept {
    for (++at_; at_ != end_; ++at_) {
      if (*at_ == '\\') {
        if (++at_ == end_) return false;
      } else if (*at_ == '"') {
        ++at_;
        return true;
      }
    }
    return false;
  }

  const char* at_;
  const char* const end_;
  Attributes& out_;
};

}  // namespace

bool read_attributes(std::string_view payload, Attributes& out) {
  out.clear();
  if (payload.empty() || !JsonReader(payload, out).document()) {
    out.clear();
    return false;
  }
  return true;
}

}  // namespace scrubjay::filter
