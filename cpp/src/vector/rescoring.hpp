// Rescoring: exact similarities of selected documents, from their originals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vector/column.hpp"

namespace scrubjay::vector {

// As sortable numbers (base/topk.hpp); all of the documents have vectors.
void score_documents(const Column& column, const uint32_t* docs, size_t n, const PreparedQuery& query,
                     uint32_t* scores);

// The same for documents of several columns of the same options, numbered column << 16 | document.
void score_documents(std::span<const Column* const> columns, const uint32_t* docs, size_t n,
                     const PreparedQuery& query, uint32_t* scores);

// Asks for what score_documents() will read of a document that has a vector: into the second-level cache, since other
// work comes first. Not worth it where all rows may be there.
void announce_document(const Column& column, uint32_t doc) noexcept;
inline constexpr size_t kNearRowBytes = size_t{1} << 20;

}  // namespace scrubjay::vector
