// Rescoring: exact similarities of selected documents, from their originals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vector/column.hpp"

namespace scrubjay::vector {

// Scores are sortable numbers (base/topk.hpp); all of the documents have vectors.
void score_documents(const Column& column, const uint32_t* docs, size_t n, const PreparedQuery& query,
                     uint32_t* scores);

// The same for documents of several columns with the same options, numbered column << 16 | document.
void score_documents(std::span<const Column* const> columns, const uint32_t* docs, size_t n,
                     const PreparedQuery& query, uint32_t* scores);

// Prefetches what score_documents() will read of a document with a vector, into the second-level cache, since
// other work comes first. Not worthwhile if all rows may be cached.
void announce_document(const Column& column, uint32_t doc) noexcept;
inline constexpr size_t kNearRowBytes = size_t{1} << 20;

}  // namespace scrubjay::vector
