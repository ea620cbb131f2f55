// Prepared batch: documents that are checked, copied and analysed before the writer's turn begins.
//
// The part of a write that runs on the caller's thread without a lock: UTF-8 is checked; texts become terms,
// and so do the texts of the documents that are replaced; vectors become rows in the format of the columns
// (the checked copy is the one that is stored, since the caller's array may change meanwhile). Texts, ids and
// payloads stay views of the caller's bytes. Belongs to one engine; not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chunk.hpp"
#include "engine/id.hpp"
#include "engine/scope.hpp"
#include "lexical/kept_terms.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

class Engine;
struct DocumentInput;

class PreparedBatch {
 public:
  struct Document {
    const DocumentInput* input = nullptr;
    std::string_view text;  // valid UTF-8
    size_t row = SIZE_MAX;  // of its vector or first passage; SIZE_MAX: no vector
    vector::RowScale scale;
    size_t first_passage = 0;
    size_t n_passages = 0;  // 0: one vector or no vector
    lexical::KeptTerms::Range terms;
    uint32_t length = 0;
    // The document that had the id when this one was prepared, if any, and its terms.
    ChunkRef old_chunk;
    uint32_t old_offset = 0;
    lexical::KeptTerms::Range old_terms;
  };

  PreparedBatch() = default;

  [[nodiscard]] std::span<const Document> documents() const noexcept { return documents_; }
  [[nodiscard]] lexical::TermSpan terms(const lexical::KeptTerms::Range& range) const noexcept {
    return terms_[range];
  }
  // Null if the document has no vector.
  [[nodiscard]] const char* row(const Document& document) const noexcept {
    return document.row == SIZE_MAX ? nullptr : rows_.data() + document.row * vectors_.row_bytes();
  }
  [[nodiscard]] std::span<const vector::PassageSpan> passages(const Document& document) const noexcept {
    return std::span(spans_).subspan(document.first_passage, document.n_passages);
  }
  [[nodiscard]] std::span<const vector::RowScale> scales(const Document& document) const noexcept {
    return std::span(scales_).subspan(document.first_passage, document.n_passages);
  }
  [[nodiscard]] const vector::ColumnOptions& vectors() const noexcept { return vectors_; }  // dim 0: none
  [[nodiscard]] const Engine* engine() const noexcept { return engine_; }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return documents_.capacity() * sizeof(Document) + terms_.memory_bytes() + rows_.capacity() +
           spans_.capacity() * sizeof(vector::PassageSpan) + scales_.capacity() * sizeof(vector::RowScale);
  }
  void clear() noexcept {
    documents_.clear();
    terms_.clear();
    rows_.clear();
    spans_.clear();
    scales_.clear();
    sanitized_.clear();
    engine_ = nullptr;
  }

 private:
  friend class Engine;

  const Engine* engine_ = nullptr;
  IdKind id_kind_ = IdKind::unset;
  vector::ColumnOptions vectors_;
  std::vector<Document> documents_;
  lexical::KeptTerms terms_;
  std::vector<char> rows_;                  // of vectors
  std::vector<vector::PassageSpan> spans_;  // of all passages
  std::vector<vector::RowScale> scales_;    // one for each of spans_
  std::deque<std::string> sanitized_;       // texts that were not valid UTF-8
};

}  // namespace scrubjay::engine
