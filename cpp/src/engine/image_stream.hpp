// Image stream: the image of a chunk, read while its bytes arrive.
//
// Each piece is checksummed and copied once, to its place in the chunk, while the processor's cache holds it:
// an image of ten megabytes passes through memory once. Nothing of the chunk is used before the checksum of
// all bytes was compared and every value was checked (finish()).
//
// Sizes are known from the header, before its checksum can be: every allocation is bounded by the number of
// bytes that may still arrive. For one thread. Private to image*.cpp and the loading of partitions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "engine/chunk.hpp"
#include "engine/image.hpp"
#include "engine/image_bytes.hpp"
#include "engine/image_parts.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

class ImageStream {
 public:
  // At most `n_bytes` will arrive. `identity` may be gone when they do.
  ImageStream(const ScopeRef& scope, const ImageIdentity& identity, size_t n_bytes);

  // Adds the next bytes. Throws base::Corrupt or std::bad_alloc; the stream is unusable then.
  void add(std::string_view bytes);
  // Appends the memory to which the next bytes will be copied, of `n_bytes` at most, to the end of a section.
  // Bytes that are there already when they are added are not copied.
  void next_places(size_t n_bytes, std::vector<base::Place>& out) const;
  // Returns the chunk, after the last byte. Throws base::Corrupt or std::bad_alloc.
  [[nodiscard]] ChunkRef finish();

 private:
  // The section that the last of the places belong to.
  enum class Section { none, header, documents, scales, rows, passage_counts, passages, terms };

  void add_piece(std::string_view bytes);
  // Appends the places of the next section.
  void place_next();
  void place_documents();
  [[nodiscard]] bool place_scales();
  void place_rows();
  [[nodiscard]] bool place_passage_counts();
  void place_passages();
  void place_terms();
  // Counts bytes of a section as expected; throws if fewer may arrive.
  void claim(uint64_t n_bytes);
  void check_rows(const char* end) noexcept;

  const ScopeRef scope_;
  vector::ColumnOptions vectors_;  // with the dimension of the image, once the header has arrived
  const IdKind id_kind_;
  const uint64_t analyzer_;
  uint64_t n_left_;  // bytes that may still arrive and belong to no section yet

  ImageHeader header_{};
  std::optional<BlockChecksum> checksum_;  // of the body
  Section section_ = Section::none;
  std::vector<base::Place> places_;  // of the section
  size_t place_ = 0;                 // the one that is being filled
  size_t n_filled_ = 0;              // bytes of it
  size_t n_row_places_ = 0;          // the first places are rows of vectors
  size_t n_checked_ = 0;             // bytes of the row place that were checked
  bool rows_in_range_ = true;

  ChunkRef owner_;
  Chunk* chunk_ = nullptr;
  std::unique_ptr<char[]> records_;
  base::Place texts_;
  std::unique_ptr<vector::Column> column_;
  std::vector<char> passages_;
  base::Place long_terms_;
  std::unique_ptr<char[]> term_numbers_;  // keys and counts; of a few documents, the whole section
  lexical::FrozenPostings::Owner frozen_;
};

}  // namespace scrubjay::engine
