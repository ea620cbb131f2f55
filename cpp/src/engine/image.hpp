// Image: a chunk as bytes that a store can keep, and back.
//
// An image holds the live documents of one chunk, renumbered without gaps: ids, texts, payloads, length
// codes, stored vectors and their codes, postings (layout: image_parts.hpp). Nothing of a dead document is in it.
// Little-endian; a header with a version, what the engine's options were, the size and a checksum comes first.
//
// Reading trusts nothing: whatever bytes are given, the result is a chunk that searches can use or
// base::Corrupt. What the checksum cannot see (a forged image) is checked value by value:
// ranges, order, UTF-8, that every posting names a document and carries its length. A forged image may still have
// codes or bounds of other values than its documents: its answers are wrong, as those of other documents would be.
//
// Acceleration only: rows are the truth, and an image that cannot be read is rebuilt from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/chunk.hpp"
#include "engine/scope.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

// What is written; those of earlier versions are read (image_early.cpp).
inline constexpr uint32_t kImageVersion = 3;

// What an image must agree on with the engine that reads it.
struct ImageIdentity {
  vector::ColumnOptions vectors;   // dim 0: the first vector decides
  std::string_view analyzer;       // the versioned name
  IdKind id_kind = IdKind::unset;  // unset: any
};

// The bytes of a chunk's live documents. No writer may work on the chunk meanwhile. May throw std::bad_alloc.
[[nodiscard]] std::string write_image(const Chunk& chunk, const ImageIdentity& identity);

// A new chunk of `scope` with the documents of an image. Throws base::Corrupt.
[[nodiscard]] ChunkRef read_image(std::string_view bytes, const ScopeRef& scope,
                                  const ImageIdentity& identity);

// The checksum that an image carries; 0 for bytes that are too few to be one.
[[nodiscard]] uint64_t image_checksum(std::string_view image) noexcept;

// What two partitions with the same documents in the same order share, however they are cut into chunks and
// whatever died in them before: sums of hashes over documents, postings and vectors.
struct Digest {
  uint64_t n_docs = 0, n_postings = 0, n_vectors = 0;
  uint64_t documents = 0, postings = 0, vectors = 0;
  uint64_t total_length = 0;  // as the chunk's own counter has it
  uint64_t n_miscounted = 0;  // lists whose count of dead postings is wrong
};
// Adds a chunk whose first live document is number `first` of its partition.
void add_digest(const Chunk& chunk, uint64_t first, Digest& digest);

}  // namespace scrubjay::engine
