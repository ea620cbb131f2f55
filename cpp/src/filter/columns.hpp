// Columns: the attributes of the documents of a chunk, field by field.
//
// Derived from the payloads (attributes.hpp), appended with each document, and nowhere else kept: an image or
// a rewritten chunk builds them anew. A value that several documents share is stored once: strings are codes
// of two bytes into a dictionary per field. Documents without attributes cost nothing. One writer, any number
// of readers under an epoch guard; readers cut everything at the document count of their snapshot.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/growing.hpp"
#include "filter/attributes.hpp"
#include "filter/interner.hpp"
#include "filter/track.hpp"

namespace scrubjay::filter {

// The codes of a column. Every document that has the field and no number or time has one.
inline constexpr uint16_t kFalse = 1, kTrue = 2, kOther = 3, kList = 4, kFirstString = 5, kSpilled = 0xffff;

// A string for which no code was left: more than 65,530 different ones in one field of one chunk.
struct SpilledString {
  const char* bytes;
  uint32_t size;
  bool element;  // of a list
  [[nodiscard]] std::string_view text() const noexcept { return {bytes, size}; }
};

struct Column {
  Track<uint16_t> codes;
  Track<int64_t> integers;
  Track<int64_t> reals;        // sortable_real()
  Track<int64_t> times;        // microseconds; of strings that name a time as well
  RowList<uint16_t> elements;  // the codes of the strings in lists
  RowList<SpilledString> spilled;
  Interner strings;

  uint32_t pending = 0;  // the writer's: 1 + which of the document's values is this field's

  [[nodiscard]] size_t memory_bytes() const noexcept;
};

class Columns {
 public:
  Columns() = default;
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
  ~Columns();

  // Appends the values of document `doc`, which readers do not see yet. `attributes` may point into
  // `payload`, whose bytes stay where they are; other texts are copied. Documents ascend; one that has none
  // need not come. Strong exception guarantee, as far as a reader can see.
  void append(uint32_t doc, const Attributes& attributes, std::string_view payload);

  // Takes back what was appended for unpublished documents from `doc` on. Their strings stay interned.
  void forget_from(uint32_t doc) noexcept;

  // Readers: null if no document has the field.
  [[nodiscard]] const Column* find(std::string_view field, uint64_t hash) const noexcept {
    const uint32_t number = fields_.find(field, hash);
    return number == Interner::kNone ? nullptr : columns_.read()[number];
  }
  [[nodiscard]] size_t memory_bytes() const noexcept;  // the writer

 private:
  struct Value;
  struct Appended;  // one document on its way in

  void prepare(uint32_t doc, Appended& appended);
  static void commit(uint32_t doc, const Appended& appended) noexcept;
  [[nodiscard]] Column& column_for(std::string_view field, const Appended& appended);
  [[nodiscard]] uint16_t code_for(Column& column, std::string_view text, bool element, Appended& appended);
  [[nodiscard]] std::string_view kept(std::string_view text, const Appended& appended);

  Interner fields_;
  base::GrowingArray<Column*> columns_;  // by the field's number
  base::ByteArena texts_;
};

}  // namespace scrubjay::filter
