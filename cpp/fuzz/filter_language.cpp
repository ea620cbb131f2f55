// Checks that any filter is rejected with an error that names the problem, or compiled to one that obeys the
// laws of logic.
//
// The text is read leniently as JSON: missing parts at the end are added, and `@5` is a time. The filter is
// then evaluated over a few fixed documents: alone, negated, in conjunctions and in disjunctions.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "filter/attributes.hpp"
#include "filter/columns.hpp"
#include "filter/language.hpp"

namespace {

using namespace scrubjay;
using filter::Literal;

void expect(bool right) {
  if (!right) std::abort();
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Literal value(int depth = 0) {
    skip_space();
    if (rest_.empty()) return {};
    const char first = rest_.front();
    if (depth > kDeepest) {  // consume input nevertheless: enclosing lists read on until nothing is left
      rest_.remove_prefix(1);
      return {};
    }
    if (first == '{') return object(depth);
    if (first == '[') return list(depth);
    if (first == '"' || first == '$') return string();
    rest_.remove_prefix(1);
    if (first == 't' || first == 'f') return {first == 't'};
    if (first == '@') return {Literal::Time{number<int64_t>().value_or(0)}};
    if (first == 'N') return {std::numeric_limits<double>::quiet_NaN()};
    if (first == 'I') return {std::numeric_limits<double>::infinity()};
    if (first == '#') return {number<double>().value_or(0.5)};
    if (first == 'i') return {number<int64_t>().value_or(7)};
    if ((first >= '0' && first <= '9') || first == '-') return {int64_t{first} - '0'};
    return {};
  }

 private:
  static constexpr int kDeepest = 100;

  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == ',' || rest_.front() == ':'))
      rest_.remove_prefix(1);
  }
  bool ends(char closing) {
    skip_space();
    if (!rest_.empty() && rest_.front() != closing) return false;
    if (!rest_.empty()) rest_.remove_prefix(1);
    return true;
  }
  template <class T>
  std::optional<T> number() {
    T read{};
    const auto result = std::from_chars(rest_.data(), rest_.data() + rest_.size(), read);
    if (result.ec != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(result.ptr - rest_.data()));
    return read;
  }
  // Up to the next quote, or an operator's name without quotes.
  Literal string() {
    const bool quoted = rest_.front() == '"';
    if (quoted) rest_.remove_prefix(1);
    size_t end = quoted ? rest_.find('"') : rest_.find_first_of(" :,\"{}[]");
    if (end == std::string_view::npos) end = rest_.size();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(std::min(rest_.size(), end + (quoted ? 1 : 0)));
    return {std::move(text)};
  }
  Literal list(int depth) {
    Literal::List elements;
    rest_.remove_prefix(1);
    while (!ends(']')) elements.push_back(value(depth + 1));
    return {std::move(elements)};
  }
  Literal object(int depth) {
    Literal::Object items;
    rest_.remove_prefix(1);
    while (!ends('}')) {
      Literal key = value(depth + 1);
      items.emplace_back(std::move(key), value(depth + 1));
    }
    return {std::move(items)};
  }

  std::string_view rest_;
};

struct Documents {
  static constexpr uint32_t kDocs = 70;  // more than a word of a bitmap
  filter::Columns columns;

  Documents() {
    constexpr std::string_view payloads[] = {
        R"({"metadata":{"a":"x","b":[1,"p"],"c":-0.5e3},"created_at":"2026-03-01T09:30:00+00:00"})",
        R"({"metadata":{"a":"y","b":["p","q"],"c":3},"created_at":"1970-01-01T00:00:00.000005+00:00"})",
        R"({"metadata":{"a":1,"b":true,"c":9223372036854775807}})",
        R"({"metadata":{"a":1.5,"b":false,"c":"3"},"expires_at":"2030-01-01"})",
        R"({"metadata":{"a":[],"b":{"x":1},"c":0}})",
        "no metadata",
        R"({"metadata":{"":"","a":""}})",
    };
    for (uint32_t doc = 0; doc < kDocs; ++doc) {
      const std::string_view payload = payloads[doc % std::size(payloads)];
      filter::Attributes attributes;
      static_cast<void>(read_attributes(payload, attributes));
      columns.append(doc, attributes, payload);
    }
  }
};

using Bits = std::vector<uint64_t>;

Bits admitted(const Literal& filter) {
  static const Documents documents;
  const auto predicate = filter::compile(filter);
  const base::EpochGuard guard;
  Bits bits((Documents::kDocs + 63) / 64);
  filter::Evaluation().run(*predicate, &documents.columns, Documents::kDocs, bits.data());
  expect(bits.back() >> (Documents::kDocs % 64) == 0);
  return bits;
}

Literal under(const char* name, Literal value) {
  return {Literal::Object{{Literal(name), std::move(value)}}};
}

// A filter that does not compile one level deeper may only be too deep.
bool compiles(const Literal& filter, Bits& bits) {
  try {
    bits = admitted(filter);
    return true;
  } catch (const base::InvalidArgument& error) {
    expect(std::string_view(error.what()).find("levels of nesting") != std::string_view::npos);
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Reader reader({reinterpret_cast<const char*>(data), size});
  const Literal filter = reader.value(), second = reader.value();
  Bits bits, others, found;
  try {
    bits = admitted(filter);
  } catch (const base::InvalidArgument& error) {
    expect(std::string_view(error.what()).find(": expected ") != std::string_view::npos);
    return 0;
  } catch (const base::WrongType& error) {
    expect(std::string_view(error.what()).find(": expected ") != std::string_view::npos);
    return 0;
  }
  Bits all(bits.size(), ~uint64_t{0});
  all.back() = (uint64_t{1} << (Documents::kDocs % 64)) - 1;
  if (compiles(under("$not", filter), found)) {
    for (size_t i = 0; i < bits.size(); ++i) expect((bits[i] ^ found[i]) == all[i]);
  }
  try {
    others = admitted(second);
  } catch (const base::Error&) {
    others = bits;
    if (compiles(under("$and", Literal::List{filter, filter}), found)) expect(found == bits);
    return 0;
  }
  if (compiles(under("$and", Literal::List{filter, second}), found)) {
    for (size_t i = 0; i < bits.size(); ++i) expect((bits[i] & others[i]) == found[i]);
  }
  if (compiles(under("$or", Literal::List{second, filter}), found)) {
    for (size_t i = 0; i < bits.size(); ++i) expect((bits[i] | others[i]) == found[i]);
  }
  return 0;
}
