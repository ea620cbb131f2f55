// Chunk: up to 65,536 consecutive documents of one partition with all their data.
//
// Owns postings, vectors, texts and the bitmap of deleted documents. One writer appends at the tail and then
// publishes (inside the partition's publication, partition.hpp); readers take a ChunkSnapshot and see nothing
// beyond it. Reference-counted: the partition holds a reference, and so does every result whose texts may
// still be read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/bitmap.hpp"
#include "base/growing.hpp"
#include "engine/id.hpp"
#include "engine/scope.hpp"
#include "filter/columns.hpp"
#include "lexical/kept_terms.hpp"
#include "lexical/posting_table.hpp"
#include "vector/column.hpp"
#include "vector/passages.hpp"

namespace scrubjay::engine {

inline constexpr uint32_t kMaxChunkDocs = 65536;

// A search's view of a chunk. Valid under the epoch guard that was held when it was taken.
struct ChunkSnapshot {
  const class Chunk* chunk = nullptr;
  const base::Bitmap* dead = nullptr;
  uint32_t n_docs = 0;  // published, deleted ones included
  uint32_t n_live = 0;
  uint64_t total_length = 0;  // sum of the decoded lengths of the live documents
};

struct NewDocument {
  Id id;
  std::string_view text;                    // valid UTF-8
  std::optional<std::string_view> payload;  // the caller's bytes
  const char* vector = nullptr;             // an encoded row (vector::encode_row); null: no vector
  vector::RowScale scale;                   // the scale of that row
  lexical::TermSpan terms;
  uint32_t length = 0;  // in tokens that count towards the length
  uint64_t write = 0;   // its write number: ascending over all partitions of an engine
  // If not empty: `vector` holds a row for each of these passages, and `passage_scales` their scales.
  std::span<const vector::PassageSpan> passages{};
  std::span<const vector::RowScale> passage_scales{};
};

class Chunk {
 public:
  explicit Chunk(ScopeRef scope);

  // --- for the writer ----------------------------------------------------------------------------
  [[nodiscard]] uint32_t n_docs() const noexcept { return n_docs_.load(std::memory_order_relaxed); }
  // The number of the next document: published documents, then prepared ones.
  [[nodiscard]] uint32_t tail() const noexcept { return n_docs() + n_prepared_; }
  [[nodiscard]] bool full() const noexcept {
    const vector::Passages* passages = passages_.load(std::memory_order_relaxed);
    return tail() >= capacity_ || (passages && passages->full());
  }
  // For tests, which make chunks small to cross chunk borders often.
  void limit(uint32_t n_docs) noexcept { capacity_ = n_docs; }
  // Sets the serial number within the partition (partition.hpp), before the chunk is published.
  void number(uint64_t serial) noexcept { serial_ = serial; }
  // Sets the write numbers of all documents of a chunk that came from an image to `first`, `first` + 1, ...
  void number_writes(uint64_t first) noexcept;

  // Stores all data of a document under number tail(), invisible until publish(). Strong exception guarantee.
  void prepare(const NewDocument& document, const vector::ColumnOptions& vectors);
  // Gives the document that was prepared last a bit-for-bit copy of the vector that `from`
  // stores for `offset`.
  void copy_vector(const vector::Column& from, uint32_t offset);
  void copy_passages(const vector::Passages& from, const vector::PassageEntry& entry);
  void publish(uint32_t n) noexcept;  // the first n prepared ones; within a publication
  // Rolls back the last prepared document, which had these terms; then call forget_values() once.
  void forget(const lexical::TermSpan& terms) noexcept;
  void forget_values() noexcept;
  // For the compaction of an unpublished chunk (engine/chunk_rewrite.hpp).
  [[nodiscard]] lexical::PostingTable& postings_to_fill() noexcept { return postings_; }
  void bury(std::unique_ptr<base::Bitmap> dead) noexcept;

  // Deletion: a copy of the bitmap of deleted documents, with room for all documents, is prepared first (may
  // throw) and installed within a publication. replace_dead() returns the old bitmap, which the writer
  // retires afterwards.
  [[nodiscard]] std::unique_ptr<base::Bitmap> copy_dead();
  void kill(uint32_t offset, const lexical::TermSpan& terms) noexcept;
  [[nodiscard]] std::unique_ptr<base::Bitmap> replace_dead(std::unique_ptr<base::Bitmap> dead) noexcept;

  [[nodiscard]] bool dead(uint32_t offset) const noexcept;
  [[nodiscard]] uint32_t n_live() const noexcept { return n_live_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint32_t n_vectors() const noexcept { return n_vectors_.load(std::memory_order_relaxed); }
  [[nodiscard]] size_t memory_bytes() const noexcept;
  [[nodiscard]] size_t text_bytes() const noexcept { return texts_.memory_bytes(); }
  [[nodiscard]] size_t vector_bytes() const noexcept;
  [[nodiscard]] size_t attribute_bytes() const noexcept;
  [[nodiscard]] const lexical::PostingTable& postings() const noexcept { return postings_; }

  // --- for readers -------------------------------------------------------------------------------
  [[nodiscard]] ChunkSnapshot snapshot() const noexcept;
  [[nodiscard]] const vector::Column* vectors() const noexcept {
    return vectors_.load(std::memory_order_acquire);
  }
  // The vectors of documents with several vectors; these documents have no vector in vectors(). Null if there
  // are no such documents.
  [[nodiscard]] const vector::Passages* passages() const noexcept {
    return passages_.load(std::memory_order_acquire);
  }
  // For a published document: whether it has one vector or several.
  [[nodiscard]] bool has_vector(uint32_t offset) const noexcept {
    const vector::Column* column = vectors();
    if (column && column->has(offset)) return true;
    const vector::Passages* several = passages();
    return several && several->find(offset);
  }
  // Columns for filters; null while no document has an attribute. For a chunk that came from an image the
  // first caller makes them from the payloads, which takes time and may throw std::bad_alloc.
  [[nodiscard]] const filter::Columns* columns() const {
    if (n_deferred_payload_bytes_.load(std::memory_order_acquire) != 0) make_columns();
    return columns_.load(std::memory_order_acquire);
  }
  [[nodiscard]] uint32_t max_length_code() const noexcept {
    return max_length_code_.load(std::memory_order_relaxed);
  }

  // For a published document. Call under an epoch guard, even with a reference; the views live as long
  // as the chunk.
  [[nodiscard]] Id id(uint32_t offset) const noexcept;
  // Prefetches the record that id(), text() and payload() read first.
  void prefetch(uint32_t offset) const noexcept { __builtin_prefetch(records_.read() + offset); }
  [[nodiscard]] std::string_view text(uint32_t offset) const noexcept;
  [[nodiscard]] std::optional<std::string_view> payload(uint32_t offset) const noexcept;
  [[nodiscard]] uint64_t write(uint32_t offset) const noexcept { return records_.read()[offset].write; }
  [[nodiscard]] const ScopeRef& scope() const noexcept { return scope_; }
  [[nodiscard]] uint64_t serial() const noexcept { return serial_; }
  [[nodiscard]] uint32_t length(uint32_t offset) const noexcept {
    return lexical::decode_length(length_code(offset));
  }

  void add_reference() const noexcept { n_references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() const noexcept {
    if (n_references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  // One document's bytes: id (if a string), text, payload, concatenated.
  struct Record {
    const char* bytes;
    int64_t id;  // an integer id, or the size of a string id
    uint32_t text_size;
    uint32_t payload_size;  // kNoPayload: no payload
    uint64_t write;         // ascending within a partition
  };
  static constexpr uint32_t kNoPayload = 0xffffffffu;
  friend struct ChunkParts;  // image.cpp

  ~Chunk();

  [[nodiscard]] uint32_t length_code(uint32_t offset) const noexcept;

  void prepare_vector(uint32_t offset, const NewDocument& document, const vector::ColumnOptions& vectors);

  // Reads the attributes of document `offset` from its payload, which is not copied.
  // Strong exception guarantee.
  void add_attributes(uint32_t offset, std::string_view payload);
  [[nodiscard]] static filter::Columns* with_attributes(uint32_t offset, std::string_view payload,
                                                        filter::Columns* columns);
  void make_columns() const;

  const ScopeRef scope_;
  uint64_t serial_ = 0;
  IdKind id_kind_ = IdKind::unset;

  // Published together, inside a publication.
  std::atomic<uint32_t> n_docs_{0};
  std::atomic<uint32_t> n_live_{0};
  std::atomic<uint32_t> max_length_code_{0};
  std::atomic<uint64_t> total_length_{0};
  std::atomic<base::Bitmap*> dead_{nullptr};

  lexical::PostingTable postings_;
  base::GrowingArray<Record> records_;
  base::GrowingArray<uint16_t> length_codes_;
  mutable std::atomic<filter::Columns*> columns_{nullptr};
  // Payload bytes (saturated) of documents that came from an image and whose attributes are not in columns
  // yet; zero if there are none.
  mutable std::atomic<uint32_t> n_deferred_payload_bytes_{0};
  uint32_t n_deferred_ = 0;  // number of documents that came from the image
  std::atomic<vector::Column*> vectors_{nullptr};
  std::atomic<vector::Passages*> passages_{nullptr};

  // Fields that searches do not read, and the reference count that each search changes, are kept apart from
  // the fields that all searches read, to avoid false sharing of their cache line.
  base::ByteArena texts_;
  uint32_t n_prepared_ = 0;
  std::atomic<uint32_t> n_vectors_{0};
  uint32_t capacity_ = kMaxChunkDocs;
  mutable std::atomic<uint32_t> n_references_{1};
};

// A counted reference.
class ChunkRef {
 public:
  ChunkRef() = default;
  explicit ChunkRef(const Chunk* chunk) noexcept : chunk_(chunk) { chunk_->add_reference(); }
  ChunkRef(ChunkRef&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  ChunkRef(const ChunkRef& other) noexcept : chunk_(other.chunk_) {
    if (chunk_) chunk_->add_reference();
  }
  ChunkRef& operator=(ChunkRef other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~ChunkRef() {
    if (chunk_) chunk_->drop_reference();
  }
  [[nodiscard]] const Chunk* get() const noexcept { return chunk_; }
  const Chunk* operator->() const noexcept { return chunk_; }

 private:
  const Chunk* chunk_ = nullptr;
};

}  // namespace scrubjay::engine
