// Attributes: the typed values of a document that filters test.
//
// They are read from the document's payload, which holds the caller's metadata: a JSON object with the keys
// `metadata` (an object) and `created_at`, `expires_at` (ISO 8601), as the Python layer writes it. Any other
// payload is a document without attributes. A field is a key of `metadata`; the two times are fields of their
// names and win over a key of the same name. Types:
//     boolean, integer (64 bits), real, string, list (its strings count), time (the two times only),
//     other (an object, an integer beyond 64 bits: it exists and equals nothing); null is not a value.
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
  std::string_view text;  // of a string
  uint32_t first = 0;     // of a list: its strings are elements[first, first + n)
  uint32_t n = 0;
};

// The attributes of one document, reused from one to the next.
struct Attributes {
  std::vector<Attribute> all;
  std::vector<std::string_view> elements;
  std::deque<std::string> unescaped;  // texts that do not stand in the payload as they are

  void clear() noexcept {
    all.clear();
    elements.clear();
    unescaped.clear();
  }
};

// Reals as integers of the same order. Never INT64_MIN; no NaN; negative zero counts as zero.
[[nodiscard]] int64_t sortable_real(double value) noexcept;
[[nodiscard]] double unsortable_real(int64_t value) noexcept;

// Reads what the payload holds; false, and nothing, if it is no JSON object as above. The views point into
// the payload or into out.unescaped. Of equal fields the last counts, and all are reported.
bool read_attributes(std::string_view payload, Attributes& out);

}  // namespace scrubjay::filter
