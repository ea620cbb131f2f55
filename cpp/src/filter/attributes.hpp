// Attributes: the typed values of a document that filters test.
//
// Read from the document's payload, which holds the caller's metadata: a JSON object with the keys `metadata`
// (an object) and `created_at`, `expires_at` (ISO 8601), as written by the Python layer. A document with any
// other payload has no attributes. A field is a key of `metadata`; the two times are fields of their names
// and take precedence over keys of the same names. Types:
//     boolean, integer (64 bits), real, string, list (only its strings count), time (the two times only),
//     other (an object or an integer beyond 64 bits: it exists but equals nothing); null is not a value.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::filter {

enum class Kind : uint8_t { boolean, integer, real, string, list, time, other };

struct Attribute {
  std::string_view field;
  Kind kind = Kind::other;
  int64_t number = 0;     // 0 or 1, the integer, the sortable real, or microseconds
  std::string_view text;  // for a string
  uint32_t first = 0;     // for a list: its strings are elements[first, first + n)
  uint32_t n = 0;
};

// The attributes of one document; reusable for the next one.
struct Attributes {
  std::vector<Attribute> all;
  std::vector<std::string_view> elements;
  std::deque<std::string> unescaped;  // texts with escapes in the payload

  void clear() noexcept {
    all.clear();
    elements.clear();
    unescaped.clear();
  }
};

// Maps reals to integers of the same order. Never INT64_MIN; no NaN; negative zero equals zero.
[[nodiscard]] int64_t sortable_real(double value) noexcept;
[[nodiscard]] double unsortable_real(int64_t value) noexcept;

// Reads the attributes of a payload; returns false, with none, if it is not a JSON object as above. The views
// point into the payload or into out.unescaped. Duplicate fields are all reported; the last one counts.
bool read_attributes(std::string_view payload, Attributes& out);

}  // namespace scrubjay::filter
