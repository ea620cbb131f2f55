#include "engine/chunk.hpp"

#include <cstring>

#include "lexical/posting.hpp"

namespace scrubjay::engine {

Chunk::Chunk(ScopeRef scope) : scope_(std::move(scope)) {}

Chunk::~Chunk() {
  delete dead_.load(std::memory_order_relaxed);
  delete vectors_.load(std::memory_order_relaxed);
  delete columns_.load(std::memory_order_relaxed);
}

void Chunk::prepare(const NewDocument& document, const vector::ColumnOptions& vectors) {
  const uint32_t offset = n_docs();
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
      document.payload ? static_cast<uint32_t>(payload.size()) : kNoPayload};
  length_codes_.data()[offset] = static_cast<uint16_t>(code);
  vector::Column* column = vectors_.load(std::memory_order_relaxed);
  if (!column && !document.vector.empty()) {
    column = new vector::Column(vectors);
    vectors_.store(column, std::memory_order_release);
  }
  // A column that reaches past the tail holds the remains of a document that failed here before.
  if (column && (!document.vector.empty() || column->size() > offset))
    column->append(offset, document.vector);
  const base::Bitmap* dead = dead_.load(std::memory_order_relaxed);
  size_t n_done = 0;
  try {
    postings_.expect(document.terms.size(), offset, code);
    for (; n_done < document.terms.size(); ++n_done) {
      const lexical::TermCount& term = document.terms[n_done];
      postings_.append(term.key, term.term, static_cast<uint16_t>(offset),
                       lexical::pack_payload(term.count, code), dead);
    }
    if (!payload.empty()) add_attributes(offset, {bytes + id.size() + document.text.size(), payload.size()});
  } catch (...) {
    for (size_t i = 0; i < n_done; ++i) {
      postings_.undo(document.terms[i].key, document.terms[i].term, static_cast<uint16_t>(offset));
    }
    throw;
  }
  if (code > max_length_code_.load(std::memory_order_relaxed))
    max_length_code_.store(code, std::memory_order_relaxed);
}

void Chunk::add_attributes(uint32_t offset, std::string_view payload) {
  thread_local filter::Attributes attributes;
  if (!filter::read_attributes(payload, attributes) || attributes.all.empty()) return;
  filter::Columns* columns = columns_.load(std::memory_order_relaxed);
  if (!columns) {
    columns = new filter::Columns;
    columns_.store(columns, std::memory_order_release);
  }
  columns->append(offset, attributes, payload);
}

void Chunk::copy_vector(const vector::Column& from, uint32_t offset) {
  vector::Column* column = vectors_.load(std::memory_order_relaxed);
  if (!column) {
    column = new vector::Column(from.options());
    vectors_.store(column, std::memory_order_release);
  }
  column->append_copy(n_docs(), from, offset);
}

void Chunk::publish() noexcept {
  const uint32_t offset = n_docs();
  const vector::Column* column = vectors_.load(std::memory_order_relaxed);
  if (column && column->has(offset)) ++n_vectors_;
  n_live_.store(n_live() + 1, std::memory_order_release);
  total_length_.store(
      total_length_.load(std::memory_order_relaxed) + lexical::decode_length(length_code(offset)),
      std::memory_order_release);
  n_docs_.store(offset + 1, std::memory_order_release);
}

std::unique_ptr<base::Bitmap> Chunk::dead_with(uint32_t offset) const {
  const base::Bitmap* old = dead_.load(std::memory_order_relaxed);
  auto grown =
      old ? std::make_unique<base::Bitmap>(*old, n_docs()) : std::make_unique<base::Bitmap>(n_docs());
  grown->set(offset);
  return grown;
}

void Chunk::kill(uint32_t offset, std::unique_ptr<base::Bitmap> dead,
                 std::span<const lexical::TermCount> terms) noexcept {
  for (const lexical::TermCount& term : terms)
    postings_.count_dead(term.key, term.term, static_cast<uint16_t>(offset));
  const vector::Column* column = vectors_.load(std::memory_order_relaxed);
  if (column && column->has(offset)) --n_vectors_;
  n_live_.store(n_live() - 1, std::memory_order_release);
  total_length_.store(
      total_length_.load(std::memory_order_relaxed) - lexical::decode_length(length_code(offset)),
      std::memory_order_release);
  replaced_.reset(dead_.exchange(dead.release(), std::memory_order_acq_rel));
}

// All at once what kill() does one by one.
void Chunk::bury(std::unique_ptr<base::Bitmap> dead) noexcept {
  postings_.recount_dead(*dead);
  const vector::Column* column = vectors_.load(std::memory_order_relaxed);
  uint64_t total = total_length_.load(std::memory_order_relaxed);
  uint32_t n_left = n_live();
  for (uint32_t offset = 0; offset < n_docs(); ++offset) {
    if (!dead->test(offset)) continue;
    if (column && column->has(offset)) --n_vectors_;
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
  return column ? base::held_bytes(sizeof(vector::Column)) + column->memory_bytes() : 0;
}

size_t Chunk::attribute_bytes() const noexcept {
  const filter::Columns* columns = columns_.load(std::memory_order_relaxed);
  return columns ? columns->memory_bytes() : 0;
}

size_t Chunk::memory_bytes() const noexcept {
  const base::Bitmap* dead = dead_.load(std::memory_order_relaxed);
  return base::held_bytes(sizeof(Chunk)) + postings_.memory_bytes() + records_.memory_bytes() +
         length_codes_.memory_bytes() + texts_.memory_bytes() + vector_bytes() + attribute_bytes() +
         (dead ? base::held_bytes(sizeof(base::Bitmap)) + base::held_bytes(dead->n_words() * sizeof(uint64_t))
               : 0);
}

}  // namespace scrubjay::engine
