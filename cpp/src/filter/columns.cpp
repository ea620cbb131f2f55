#include "filter/columns.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "base/seeded_hash.hpp"
#include "filter/iso_time.hpp"

namespace scrubjay::filter {

size_t Column::memory_bytes() const noexcept {
  return sizeof(Column) + codes.memory_bytes() + integers.memory_bytes() + reals.memory_bytes() +
         times.memory_bytes() + elements.memory_bytes() + spilled.memory_bytes() + strings.memory_bytes();
}

Columns::~Columns() {
  for (uint32_t i = 0; i < fields_.size(); ++i) delete columns_.data()[i];
}

size_t Columns::memory_bytes() const noexcept {
  size_t n = sizeof(Columns) + fields_.memory_bytes() + columns_.memory_bytes() + texts_.memory_bytes();
  for (uint32_t i = 0; i < fields_.size(); ++i) n += columns_.read()[i]->memory_bytes();
  return n;
}

// A value of the document, ready to be stored once there is room.
struct Columns::Value {
  Column* column;
  const Attribute* attribute;
  uint16_t code = 0;  // 0: only a number or a time
  bool timed = false;
  int64_t time = 0;
  size_t first_code = 0, n_codes = 0;  // of a list
  size_t first_spilled = 0, n_spilled = 0;
};

struct Columns::Appended {
  const Attributes* attributes = nullptr;
  std::string_view payload;
  std::vector<Value> values;
  std::vector<uint16_t> codes;
  std::vector<SpilledString> spilled;
};

void Columns::append(uint32_t doc, const Attributes& attributes, std::string_view payload) {
  thread_local Appended appended;  // only its memory is reused between documents
  const auto forget = []() noexcept {
    for (const Value& value : appended.values) value.column->pending = 0;
    appended.values.clear();
    appended.codes.clear();
    appended.spilled.clear();
  };
  appended.attributes = &attributes;
  appended.payload = payload;
  try {
    prepare(doc, appended);
  } catch (...) {
    forget();
    throw;
  }
  commit(doc, appended);
  forget();
}

void Columns::forget_from(uint32_t doc) noexcept {
  for (uint32_t i = 0; i < fields_.size(); ++i) {
    Column& column = *columns_.data()[i];
    column.codes.forget_from(doc);
    column.integers.forget_from(doc);
    column.reals.forget_from(doc);
    column.times.forget_from(doc);
    column.elements.forget_from(doc);
    column.spilled.forget_from(doc);
  }
}

// Does everything that may fail: codes, columns and room. No document refers to what it leaves behind.
void Columns::prepare(uint32_t doc, Appended& appended) {
  const Attributes& attributes = *appended.attributes;
  for (const Attribute& attribute : attributes.all) {
    Column& column = column_for(attribute.field, appended);
    if (column.pending == 0) {
      appended.values.push_back({&column, nullptr});
      column.pending = static_cast<uint32_t>(appended.values.size());
    }
    appended.values[column.pending - 1].attribute = &attribute;  // of equal fields the last one counts
  }
  for (Value& value : appended.values) {
    Column& column = *value.column;
    const Attribute& attribute = *value.attribute;
    value.first_spilled = appended.spilled.size();
    switch (attribute.kind) {
      case Kind::boolean:
        value.code = attribute.number != 0 ? kTrue : kFalse;
        break;
      case Kind::other:
        value.code = kOther;
        break;
      case Kind::integer:
        column.integers.reserve(doc);
        break;
      case Kind::real:
        column.reals.reserve(doc);
        break;
      case Kind::time:
        value.timed = true;
        value.time = attribute.number;
        break;
      case Kind::string:
        value.code = code_for(column, attribute.text, false, appended);
        value.timed = parse_iso_time(attribute.text, value.time);
        break;
      case Kind::list:
        value.code = kList;
        value.first_code = appended.codes.size();
        for (uint32_t i = 0; i < attribute.n; ++i) {
          const uint16_t code = code_for(column, attributes.elements[attribute.first + i], true, appended);
          if (code != kSpilled) appended.codes.push_back(code);
        }
        value.n_codes = appended.codes.size() - value.first_code;
        if (value.n_codes != 0) column.elements.reserve(value.n_codes);
        break;
    }
    value.n_spilled = appended.spilled.size() - value.first_spilled;
    if (value.n_spilled != 0) column.spilled.reserve(value.n_spilled);
    if (value.code != 0) column.codes.reserve(doc);
    if (value.timed) column.times.reserve(doc);
  }
}

void Columns::commit(uint32_t doc, const Appended& appended) noexcept {
  for (const Value& value : appended.values) {
    Column& column = *value.column;
    const Attribute& attribute = *value.attribute;
    if (attribute.kind == Kind::integer) column.integers.put(doc, attribute.number);
    if (attribute.kind == Kind::real) column.reals.put(doc, attribute.number);
    if (value.timed) column.times.put(doc, value.time);
    if (value.code != 0) column.codes.put(doc, value.code);
    for (size_t i = 0; i < value.n_codes; ++i) column.elements.put(doc, appended.codes[value.first_code + i]);
    for (size_t i = 0; i < value.n_spilled; ++i)
      column.spilled.put(doc, appended.spilled[value.first_spilled + i]);
  }
}

Column& Columns::column_for(std::string_view field, const Appended& appended) {
  const uint64_t hash = base::seeded_hash64(field);
  const uint32_t known = fields_.find(field, hash);
  if (known != Interner::kNone) return *columns_.data()[known];
  auto column = std::make_unique<Column>();
  const uint32_t number = fields_.size();
  columns_.reserve(number + 1, number);
  const std::string_view name = kept(field, appended);
  columns_.data()[number] = column.get();
  (void)fields_.add(name, hash);
  return *column.release();
}

uint16_t Columns::code_for(Column& column, std::string_view text, bool element, Appended& appended) {
  const uint64_t hash = base::seeded_hash64(text);
  const uint32_t known = column.strings.find(text, hash);
  if (known != Interner::kNone) return static_cast<uint16_t>(kFirstString + known);
  const std::string_view stays = kept(text, appended);
  if (column.strings.size() + kFirstString >= kSpilled) {
    appended.spilled.push_back({stays.data(), static_cast<uint32_t>(stays.size()), element});
    return kSpilled;
  }
  return static_cast<uint16_t>(kFirstString + column.strings.add(stays, hash));
}

// Returns the text at a permanent location: in the payload, or copied.
std::string_view Columns::kept(std::string_view text, const Appended& appended) {
  const std::string_view payload = appended.payload;
  if (text.data() >= payload.data() && text.data() + text.size() <= payload.data() + payload.size())
    return text;
  if (text.empty()) return {};
  char* copy = texts_.allocate(text.size());
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

}  // namespace scrubjay::filter
