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

}  // namespace scrubjay::vector
