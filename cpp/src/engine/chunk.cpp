#include "engine/chunk.hpp"

#include <cstring>

#include "base/interruption.hpp"
#include "lexical/posting.hpp"

namespace scrubjay::engine {

Chunk::Chunk(ScopeRef scope) : scope_(std::move(scope)) {}

Chunk::~Chunk() {
  delete dead_.load(std::memory_order_relaxed);
  delete vectors_.load(std::memory_order_relaxed);
  delete passages_.load(std::memory_order_relaxed);
  delete columns_.load(std::memory_order_relaxed);
}

void Chunk::prepare(const NewDocument& document, const vector::ColumnOptions& vectors) {
  const uint32_t offset = tail();
  const uint32_t code = lexical::encode_length(document.length);
  const std::string_view id = document.id.string;
  const std::string_view payload = document.payload.value_or(std::string_view());
  records_.reserve(offset + 1, offset);
  length_codes_.reserve(offset + 1, offset);
  char* bytes = texts_.allocate(id.size() + document.text.size() + payload.size());
  auto put = [at = bytes](std::string_view part) mutable {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  };
  put(id);
  put(document.text);
  put(payload);
  if (offset == 0) id_kind_ = document.id.kind;
  records_.data()[offset] = {
      bytes, id_kind_ == IdKind::integer ? document.id.integer : static_cast<int64_t>(id.size()),
      static_cast<uint32_t>(document.text.size()),
      document.payload ? static_cast<uint32_t>(payload.size()) : kNoPayload, document.write};
  length_codes_.data()[offset] = static_cast<uint16_t>(code);
  prepare_vector(offset, document, vectors);
  const base::Bitmap* dead = dead_.load(std::memory_order_relaxed);
  size_t n_done = 0;
  try {
    postings_.expect(document.terms.size(), offset, code);
    for (; n_done < document.terms.size(); ++n_done) {
      if (n_done % 1024 == 1023) base::interruption_point();
      postings_.append(document.terms.key(n_done), document.terms.term(n_done), static_cast<uint16_t>(offset),
                       lexical::pack_payload(document.terms.count(n_done), code), dead);
    }
    if (!payload.empty()) add_attributes(offset, {bytes + id.size() + document.text.size(), payload.size()});
  } catch (...) {
    for (size_t i = 0; i < n_done; ++i)
      postings_.undo(document.terms.key(i), document.terms.term(i), static_cast<uint16_t>(offset));
    throw;
  }
  ++n_prepared_;
  if (code > max_length_code_.load(std::memory_order_relaxed))
    max_length_code_.store(code, std::memory_order_relaxed);
}

// Data past the tail belongs to a document whose write failed.
void Chunk::prepare_vector(uint32_t offset, const NewDocument& document,
                           const vector::ColumnOptions& vectors) {
  vector::Column* column = vectors_.load(std::memory_order_relaxed);
  vector::Passages* passages = passages_.load(std::memory_order_relaxed);
  if (passages) passages->drop_from(offset);
  const bool several = !document.passages.empty();
  if (document.vector && several && !passages) {
    passages = new vector::Passages(vectors);
    passages_.store(passages, std::memory_order_release);
  } else if (document.vector && !several && !column) {
    column = new vector::Column(vectors);
    vectors_.store(column, std::memory_order_release);
  }
  if (column && document.vector && !several) {
    column->append_stored(offset, document.scale, document.vector);
  } else if (column && column->size() > offset) {
    column->append(offset, {});
  }
  if (document.vector && several)
    passages->append(offset, document.passage_scales, document.vector, document.passages);
}

void Chunk::add_attributes(uint32_t offset, std::string_view payload) {
  auto* current = const_cast<filter::Columns*>(columns());
  filter::Columns* columns = with_attributes(offset, payload, current);
  if (columns != current) columns_.store(columns, std::memory_order_release);
}

// Returns the columns, or new ones if there are none, with the attributes of the payload, if any.
filter::Columns* Chunk::with_attributes(uint32_t offset, std::string_view payload, filter::Columns* columns) {
  thread_local filter::Attributes attributes;
  if (!filter::read_attributes(payload, attributes) || attributes.all.empty()) return columns;
  std::unique_ptr<filter::Columns> new_columns;
  if (!columns) new_columns = std::make_unique<filter::Columns>();
  (columns ? columns : new_columns.get())->append(offset, attributes, payload);
  return columns ? columns : new_columns.release();
}

// Threads that arrive meanwhile each make columns of their own, so that none waits for another; the
// first to finish installs its columns. The writer calls this before it adds to the columns, and adds to
// the installed ones.
void Chunk::make_columns() const {
  std::unique_ptr<filter::Columns> new_columns;
  for (uint32_t offset = 0; offset < n_deferred_; ++offset) {
    if (offset % 256 == 0) base::interruption_point();
    const std::optional<std::string_view> bytes = payload(offset);
    if (!bytes || bytes->empty()) continue;
    filter::Columns* columns = with_attributes(offset, *bytes, new_columns.get());
    if (columns != new_columns.get()) new_columns.reset(columns);
  }
  filter::Columns* none = nullptr;
  if (new_columns && columns_.compare_exchange_strong(none, new_columns.get(), std::memory_order_acq_rel))
    static_cast<void>(new_columns.release());
  n_deferred_payload_bytes_.store(0, std::memory_order_release);
}

void Chunk::number_writes(uint64_t first) noexcept {
  for (uint32_t offset = 0; offset < n_docs(); ++offset) records_.data()[offset].write = first + offset;
}

void Chunk::copy_vector(const vector::Column& from, uint32_t offset) {
  vector::Column* column = vectors_.load(std::memory_order_relaxed);
  if (!column) {
    column = new vector::Column(from.options());
    vectors_.store(column, std::memory_order_release);
  }
  column->append_copy(tail() - 1, from, offset);
}

void Chunk::copy_passages(const vector::Passages& from, const vector::PassageEntry& entry) {
  vector::Passages* passages = passages_.load(std::memory_order_relaxed);
  if (!passages) {
    passages = new vector::Passages(from.rows().options());
    passages_.store(passages, std::memory_order_release);
  }
  passages->append_copy(tail() - 1, from, entry);
}

void Chunk::publish(uint32_t n) noexcept {
  const uint32_t first = n_docs();
  vector::Passages* passages = passages_.load(std::memory_order_relaxed);
  if (passages) passages->publish(first + n);
  uint32_t n_vectors = 0;
  uint64_t total_length = total_length_.load(std::memory_order_relaxed);
  for (uint32_t offset = first; offset < first + n; ++offset) {
    if (has_vector(offset)) ++n_vectors;
    total_length += lexical::decode_length(length_code(offset));
  }
  n_prepared_ -= n;
  n_vectors_.fetch_add(n_vectors, std::memory_order_relaxed);
  n_live_.store(n_live() + n, std::memory_order_release);
  total_length_.store(total_length, std::memory_order_release);
  n_docs_.store(first + n, std::memory_order_release);
}

void Chunk::forget(const lexical::TermSpan& terms) noexcept {
  --n_prepared_;
  for (size_t i = 0; i < terms.size(); ++i)
    postings_.undo(terms.key(i), terms.term(i), static_cast<uint16_t>(tail()));
}

void Chunk::forget_values() noexcept {
  if (filter::Columns* columns = columns_.load(std::memory_order_relaxed)) columns->forget_from(tail());
}

std::unique_ptr<base::Bitmap> Chunk::copy_dead() {
  postings_.thaw();  // kill() counts in its lists and may not fail
  const base::Bitmap* old = dead_.load(std::memory_order_relaxed);
  return old ? std::make_unique<base::Bitmap>(*old, n_docs()) : std::make_unique<base::Bitmap>(n_docs());
}

void Chunk::kill(uint32_t offset, const lexical::TermSpan& terms) noexcept {
  for (size_t i = 0; i < terms.size(); ++i)
    postings_.count_dead(terms.key(i), terms.term(i), static_cast<uint16_t>(offset));
  if (has_vector(offset)) n_vectors_.fetch_sub(1, std::memory_order_relaxed);
  n_live_.store(n_live() - 1, std::memory_order_release);
  total_length_.store(
      total_length_.load(std::memory_order_relaxed) - lexical::decode_length(length_code(offset)),
      std::memory_order_release);
}

std::unique_ptr<base::Bitmap> Chunk::replace_dead(std::unique_ptr<base::Bitmap> dead) noexcept {
  return std::unique_ptr<base::Bitmap>(dead_.exchange(dead.release(), std::memory_order_acq_rel));
}

// Same as kill() and replace_dead() for all deleted documents at once.
void Chunk::bury(std::unique_ptr<base::Bitmap> dead) noexcept {
  postings_.recount_dead(*dead);
  uint64_t total = total_length_.load(std::memory_order_relaxed);
  uint32_t n_left = n_live();
  for (uint32_t offset = 0; offset < n_docs(); ++offset) {
    if (!dead->test(offset)) continue;
    if (has_vector(offset)) n_vectors_.fetch_sub(1, std::memory_order_relaxed);
    total -= length(offset);
    --n_left;
  }
  n_live_.store(n_left, std::memory_order_relaxed);
  total_length_.store(total, std::memory_order_relaxed);
  dead_.store(dead.release(), std::memory_order_release);
}

bool Chunk::dead(uint32_t offset) const noexcept {
  const base::Bitmap* bitmap = dead_.load(std::memory_order_acquire);
  return bitmap && bitmap->test(offset);
}

ChunkSnapshot Chunk::snapshot() const noexcept {
  ChunkSnapshot snapshot;
  snapshot.chunk = this;
  snapshot.n_docs = n_docs_.load(std::memory_order_acquire);
  snapshot.n_live = n_live_.load(std::memory_order_acquire);
  snapshot.total_length = total_length_.load(std::memory_order_acquire);
  snapshot.dead = dead_.load(std::memory_order_acquire);
  return snapshot;
}

uint32_t Chunk::length_code(uint32_t offset) const noexcept { return length_codes_.read()[offset]; }

Id Chunk::id(uint32_t offset) const noexcept {
  const Record& record = records_.read()[offset];
  if (id_kind_ == IdKind::integer) return Id::of(record.id);
  return Id::of(std::string_view(record.bytes, static_cast<size_t>(record.id)));
}

std::string_view Chunk::text(uint32_t offset) const noexcept {
  const Record& record = records_.read()[offset];
  const size_t id_size = id_kind_ == IdKind::integer ? 0 : static_cast<size_t>(record.id);
  return {record.bytes + id_size, record.text_size};
}

std::optional<std::string_view> Chunk::payload(uint32_t offset) const noexcept {
  const Record& record = records_.read()[offset];
  if (record.payload_size == kNoPayload) return std::nullopt;
  const std::string_view before = text(offset);
  return std::string_view(before.data() + before.size(), record.payload_size);
}

size_t Chunk::vector_bytes() const noexcept {
  const vector::Column* column = vectors_.load(std::memory_order_relaxed);
  const vector::Passages* several = passages_.load(std::memory_order_relaxed);
  return (column ? base::held_bytes(sizeof(vector::Column)) + column->memory_bytes() : 0) +
         (several ? several->memory_bytes() : 0);
}

size_t Chunk::attribute_bytes() const noexcept {
  // Columns that are not made yet are estimated at half of the payloads' bytes, which is seldom too much.
  const size_t n_deferred = n_deferred_payload_bytes_.load(std::memory_order_acquire);
  const filter::Columns* columns = columns_.load(std::memory_order_acquire);
  return columns ? columns->memory_bytes() : n_deferred / 2;
}

size_t Chunk::memory_bytes() const noexcept {
  const base::Bitmap* dead = dead_.load(std::memory_order_relaxed);
  return base::held_bytes(sizeof(Chunk)) + postings_.memory_bytes() + records_.memory_bytes() +
         length_codes_.memory_bytes() + texts_.memory_bytes() + vector_bytes() + attribute_bytes() +
         (dead ? base::held_bytes(sizeof(base::Bitmap)) + base::held_bytes(dead->n_words() * sizeof(uint64_t))
               : 0);
}

}  // namespace scrubjay::engine
