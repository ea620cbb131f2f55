// Passages: the documents of a chunk that have several vectors, one for each part of their text.
//
// Such a document has no row in the chunk's column; its vectors are consecutive rows of a separate column,
// and its similarity to a query is that of the nearest of them. Components that expect one vector per
// document (codes, graphs, scans) are thus unaffected, and a chunk without such documents has no object of
// this class.
//
// One writer, any number of readers under an epoch guard. Entries become visible with publish(), before the
// chunk's documents do; entries left by a failed write are dropped by the next write (drop_from()).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/growing.hpp"
#include "vector/column.hpp"

namespace scrubjay::vector {

// Position of a passage in its text, in the caller's unit; 0, 0: unknown.
struct PassageSpan {
  uint32_t start = 0, end = 0;
};

// The vectors of one document: rows [first, first + n) of the column.
struct PassageEntry {
  uint32_t doc = 0;  // offset in the chunk
  uint32_t first = 0;
  uint32_t n = 0;
};

// The nearest passage of a document.
struct NearestPassage {
  uint32_t row = 0;
  float similarity = 0.0f;
};

class Passages {
 public:
  static constexpr uint32_t kMaxRows = base::RowBlocks::kRowsPerBlock * base::RowBlocks::kMaxBlocks;
  static constexpr uint32_t kMaxPerDocument = kMaxRows / 4;

  explicit Passages(const ColumnOptions& options) : rows_(options) {}
  Passages(const Passages&) = delete;
  Passages& operator=(const Passages&) = delete;

  // --- for the writer ---
  // Rows of all entries, published or not.
  [[nodiscard]] uint32_t n_rows() const noexcept { return n_rows_; }
  // Whether the passages of some document may not fit.
  [[nodiscard]] bool full() const noexcept { return n_rows_ + kMaxPerDocument > kMaxRows; }
  // Drops the entries of documents from `doc` on, none of which is published.
  void drop_from(uint32_t doc) noexcept;
  // Appends the passages of document `doc`, which is greater than those of all entries: for each span, of
  // which there is at least one, a row with the column's options and a scale. Strong exception guarantee.
  void append(uint32_t doc, std::span<const RowScale> scales, const char* rows,
              std::span<const PassageSpan> spans);
  // The same with the passages of an entry of `from`, which has the same options.
  void append_copy(uint32_t doc, const Passages& from, const PassageEntry& entry);
  void publish(uint32_t n_docs) noexcept;  // the entries of documents below n_docs

  // --- for readers ---
  // Published entries, ascending by document.
  [[nodiscard]] std::span<const PassageEntry> entries() const noexcept {
    const uint32_t n = n_published_.load(std::memory_order_acquire);
    return {entries_.read(), n};
  }
  // The entries of the first n_docs documents of the chunk.
  [[nodiscard]] std::span<const PassageEntry> entries(uint32_t n_docs) const noexcept;
  // Null if the document has no passages.
  [[nodiscard]] const PassageEntry* find(uint32_t doc) const noexcept;
  [[nodiscard]] const Column& rows() const noexcept { return rows_; }
  [[nodiscard]] PassageSpan span(uint32_t row) const noexcept { return spans_.read()[row]; }
  // The nearest passage; the first one of equals.
  [[nodiscard]] NearestPassage nearest(const PassageEntry& entry, const PreparedQuery& query) const;

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return base::held_bytes(sizeof(Passages)) + rows_.memory_bytes() + entries_.memory_bytes() +
           spans_.memory_bytes();
  }

 private:
  void add_entry(uint32_t doc, uint32_t n) noexcept;

  Column rows_;
  base::GrowingArray<PassageEntry> entries_;
  base::GrowingArray<PassageSpan> spans_;
  uint32_t n_entries_ = 0, n_rows_ = 0;
  std::atomic<uint32_t> n_published_{0};
};

}  // namespace scrubjay::vector
