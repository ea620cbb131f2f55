// Image: the serialised form of a chunk, for a store.
//
// An image holds the live documents of one chunk, renumbered without gaps: ids, texts, payloads, length
// codes, stored vectors and their codes, postings (layout: image_parts.hpp). It contains nothing of deleted
// documents. Little-endian; the header holds a version, the engine's options, the size and a checksum.
//
// The reader trusts nothing: for any bytes, the result is a chunk that searches can use, or base::Corrupt.
// Properties that the checksum cannot prove (for a forged image) are checked value by value: ranges,
// order, UTF-8, that every posting refers to a document and carries its length. A forged image may still
// have codes or bounds that do not match its documents: its answers are then wrong, as those of other
// documents would be.
//
// Acceleration only: rows are the truth, and an image that cannot be read is rebuilt from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "engine/chunk.hpp"
#include "engine/scope.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

// The version that is written; earlier versions can be read (image_early.cpp).
inline constexpr uint32_t kImageVersion = 3;

// Properties that an image must share with the engine that reads it.
struct ImageIdentity {
  vector::ColumnOptions vectors;   // dim 0: taken from the first vector
  std::string_view analyzer;       // versioned name
  IdKind id_kind = IdKind::unset;  // unset: any kind
};

// Serialises a chunk's live documents. No writer may change the chunk meanwhile. May throw std::bad_alloc.
[[nodiscard]] std::string write_image(const Chunk& chunk, const ImageIdentity& identity);

// Returns a new chunk of `scope` with the documents of an image. Throws base::Corrupt.
[[nodiscard]] ChunkRef read_image(std::string_view bytes, const ScopeRef& scope,
                                  const ImageIdentity& identity);

// An image whose bytes arrive in pieces: of a chunk, or of a graph (graph_image.hpp). A chunk's bytes are
// copied to their places at once (image_stream.hpp), other bytes are collected. For one thread.
class ArrivingImage {
 public:
  // At most `n_bytes` will arrive.
  ArrivingImage(const ScopeRef& scope, const ImageIdentity& identity, size_t n_bytes);
  ArrivingImage(ArrivingImage&&) noexcept;
  ~ArrivingImage();

  // Throws base::Corrupt or std::bad_alloc; the image is unusable then.
  void add(std::string_view bytes);
  // Appends the memory to which the next bytes will be copied, of `n_bytes` at most, as far as it is known.
  // Bytes that are there already when they are added are not copied. Valid until the next call of add().
  void next_places(size_t n_bytes, std::vector<base::Place>& out) const;

  // Returns the chunk, after the last byte. Throws base::Corrupt if the bytes are no image of one. Call once.
  [[nodiscard]] ChunkRef chunk(const ScopeRef& scope, const ImageIdentity& identity);
  // What was collected: all bytes, or the header of a chunk's image (enough for image_checksum()).
  [[nodiscard]] std::string_view collected() const noexcept { return collected_; }

 private:
  size_t n_bytes_;
  std::string collected_;
  std::unique_ptr<class ImageStream> stream_;  // null: the bytes are collected
  bool is_header_complete_ = false;
};

// The checksum stored in an image; 0 if there are too few bytes.
[[nodiscard]] uint64_t image_checksum(std::string_view image) noexcept;

// Content digest of a partition: sums of hashes over documents, postings and vectors. Partitions with the
// same documents in the same order have equal digests, regardless of their division into chunks and of
// earlier deletions.
struct Digest {
  uint64_t n_docs = 0, n_postings = 0, n_vectors = 0;
  uint64_t documents = 0, postings = 0, vectors = 0;
  uint64_t total_length = 0;  // from the chunk's own counter
  uint64_t n_miscounted = 0;  // posting lists whose count of deleted postings is wrong
};
// Adds a chunk whose first live document is number `first` of its partition.
void add_digest(const Chunk& chunk, uint64_t first, Digest& digest);

}  // namespace scrubjay::engine
