// Columns: the attributes of the documents of a chunk, by field.
//
// Derived from the payloads (attributes.hpp), appended with each document and stored nowhere else: an image
// or a rewritten chunk builds them again. A value that several documents share is stored once: strings are
// two-byte codes into a dictionary per field. Documents without attributes cost nothing. One writer, any
// number of readers under an epoch guard; readers cut everything at the document count of their snapshot.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/growing.hpp"
#include "filter/attributes.hpp"
#include "filter/interner.hpp"
#include "filter/track.hpp"

namespace scrubjay::filter {

// The codes of a column. Every document that has the field with a value that is not a number or time
// has a code.
inline constexpr uint16_t kFalse = 1, kTrue = 2, kOther = 3, kList = 4, kFirstString = 5, kSpilled = 0xffff;

// A string for which no code was left: there are more than 65,530 distinct ones in one field of one chunk.
struct SpilledString {
  const char* bytes;
  uint32_t size;
  bool element;  // it is an element of a list
  [[nodiscard]] std::string_view text() const noexcept { return {bytes, size}; }
};

struct Column {
  Track<uint16_t> codes;
  Track<int64_t> integers;
  Track<int64_t> reals;        // sortable_real()
  Track<int64_t> times;        // microseconds; also for strings that are times
  RowList<uint16_t> elements;  // the codes of the strings in lists
  RowList<SpilledString> spilled;
  Interner strings;

  uint32_t pending = 0;  // for the writer: 1 + index of the current document's value for this field

  [[nodiscard]] size_t memory_bytes() const noexcept;
};

class Columns {
 public:
  Columns() = default;
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
  ~Columns();

  // Appends the values of document `doc`, which readers do not see yet. `attributes` may point into
  // `payload`, whose bytes must not move; other texts are copied. Documents ascend; documents without
  // attributes may be skipped. Strong exception guarantee, as far as readers can observe.
  void append(uint32_t doc, const Attributes& attributes, std::string_view payload);

  // Rolls back the unpublished documents from `doc` on. Their strings stay interned.
  void forget_from(uint32_t doc) noexcept;

  // For readers: null if no document has the field.
  [[nodiscard]] const Column* find(std::string_view field, uint64_t hash) const noexcept {
    const uint32_t number = fields_.find(field, hash);
    return number == Interner::kNone ? nullptr : columns_.read()[number];
  }
  [[nodiscard]] size_t memory_bytes() const noexcept;  // for the writer

 private:
  struct Value;
  struct Appended;  // one document being appended

  void prepare(uint32_t doc, Appended& appended);
  static void commit(uint32_t doc, const Appended& appended) noexcept;
  [[nodiscard]] Column& column_for(std::string_view field, const Appended& appended);
  [[nodiscard]] uint16_t code_for(Column& column, std::string_view text, bool element, Appended& appended);
  [[nodiscard]] std::string_view kept(std::string_view text, const Appended& appended);

  Interner fields_;
  base::GrowingArray<Column*> columns_;  // by the number of the field
  base::ByteArena texts_;
};

}  // namespace scrubjay::filter
