// Image parts: the layout of an image, and access to the private parts of a chunk. Private to image*.cpp.
//
//     header
//     documents   records; length codes; for each document id (if a string), text and payload
//     vectors     of a column: exponents, values, rows; if coded: factors, biases, errors, codes
//                 (vector/column.hpp)
//     passages    their number; entries; spans; scales; rows
//     terms       long terms, each after a length byte; keys of short ones; counts; bounds; offsets; payloads
//                 (lexical/frozen_postings.hpp)
//
// Everything except the passages has its in-memory layout, so that reading is copying (image_stream.hpp) and
// checking.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/place.hpp"
#include "engine/chunk.hpp"
#include "engine/image.hpp"
#include "engine/image_bytes.hpp"
#include "vector/passages.hpp"

namespace scrubjay::engine {

inline constexpr char kImageMagic[8] = {'S', 'J', 'C', 'H', 'U', 'N', 'K', '\n'};

struct ImageHeader {
  static constexpr uint8_t kPassages = 1, kCodes = 2;  // flags: parts that are present

  char magic[8];
  uint32_t version;
  uint32_t n_docs;
  uint64_t analyzer;  // hash of the name
  uint32_t dim;       // 0: no vectors
  uint8_t storage;
  uint8_t metric;
  uint8_t id_kind;
  uint8_t flags;
  uint32_t n_with_column;  // documents covered by the vector column
  uint32_t n_terms;
  uint32_t n_short_terms;
  uint32_t n_bounds;
  uint32_t n_postings;
  uint32_t long_term_bytes;
  uint64_t text_bytes;
  uint64_t body_bytes;
  uint64_t checksum;  // of the header, with this field zero, and the body
};
static_assert(sizeof(ImageHeader) == 80 && std::is_trivially_copyable_v<ImageHeader>);
static_assert(std::endian::native == std::endian::little, "images are little-endian");

struct RecordImage {
  int64_t id;  // an integer id, or the size of a string id
  uint32_t text_size;
  uint32_t payload_size;  // as in Chunk::Record
};
static_assert(sizeof(RecordImage) == 16);

// Precedes the passages, if an image has any.
struct PassagesImage {
  uint32_t n_docs;  // documents with passages
  uint32_t n;       // passages of all documents
};
static_assert(sizeof(PassagesImage) == 8);

struct EntryImage {
  uint32_t doc;
  uint32_t n;  // number of its passages
};
static_assert(sizeof(EntryImage) == 8 && sizeof(vector::PassageSpan) == 8);

// Access to the chunk's private parts, for images only.
struct ChunkParts {
  using Record = Chunk::Record;
  static constexpr uint32_t kNoPayload = Chunk::kNoPayload;
  static constexpr uint32_t kNoOffset = 0xffffffffu;

  static void write(const Chunk& chunk, const ImageIdentity& identity, std::string& out);
  // An image of the version that is written: places for its sections, then checks of what arrived in them
  // (image_stream.hpp). The caller has compared the sizes with the bytes that are left: they bound what is
  // allocated.
  struct DocumentPlaces {
    base::Place length_codes, texts;
  };
  [[nodiscard]] static DocumentPlaces place_documents(Chunk& chunk, const ImageHeader& header);
  static void check_documents(Chunk& chunk, const ImageHeader& header, std::string_view records,
                              const base::Place& texts);
  static void install_vectors(Chunk& chunk, std::unique_ptr<vector::Column> column,
                              uint32_t n_vectors) noexcept;
  static void read_passages(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                            const vector::ColumnOptions& vectors);
  // Whether the terms are used as stored; otherwise they are read one by one.
  [[nodiscard]] static bool is_frozen(const ImageHeader& header) noexcept {
    return header.n_terms != 0 && !lexical::PostingTable::is_tiny(header.n_terms, header.n_docs);
  }
  [[nodiscard]] static base::Place place_long_terms(Chunk& chunk, const ImageHeader& header);
  // `numbers`: the keys of the short terms, and the counts.
  static void settle_terms(Chunk& chunk, const ImageHeader& header, const base::Place& long_terms,
                           const char* numbers, lexical::FrozenPostings::Owner frozen);
  static void read_few_terms(Chunk& chunk, const ImageHeader& header, ImageReader& in);
  static void complete(Chunk& chunk, const ImageHeader& header) noexcept;
  // An image of an earlier version.
  static void read_early(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                         const ImageIdentity& identity);
  static void digest(const Chunk& chunk, uint64_t first, Digest& digest);

 private:
  // Lists the live documents by old offset, and the new offset of each old one.
  static void number_live(const Chunk& chunk, std::vector<uint32_t>& live, std::vector<uint32_t>& renumbered);
  static void write_vectors(const vector::Column& column, const std::vector<uint32_t>& live,
                            ImageHeader& header, std::string& out);
  static void write_passages(const Chunk& chunk, const std::vector<uint32_t>& renumbered, ImageHeader& header,
                             std::string& out);
  static void write_terms(const Chunk& chunk, const std::vector<uint32_t>& renumbered, ImageHeader& header,
                          std::string& out);
  // For images before version 3 (image_early.cpp).
  static void read_early_vectors(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                                 const ImageIdentity& identity);
  static void read_early_terms(Chunk& chunk, const ImageHeader& header, ImageReader& in);
};

// Throws base::Corrupt unless an engine with these options (dim 0, id kind unset: any), and with an analyzer
// whose name has this hash, can have a chunk with this header.
void check_header(const ImageHeader& header, const vector::ColumnOptions& vectors, IdKind id_kind,
                  uint64_t analyzer);
[[nodiscard]] inline uint64_t checksum_of(ImageHeader header) noexcept {
  header.checksum = 0;
  return block_checksum({reinterpret_cast<const char*>(&header), sizeof header}, 0);
}

// Whether the bytes claim to be an image of version 1 or 2, whose parts have another form.
[[nodiscard]] bool is_early_image(std::string_view bytes) noexcept;
inline constexpr size_t kEarlyChecksum = 56;  // offset of the checksum
// Reads the header, and what is needed of the parts that read_early_*() do not read.
[[nodiscard]] ImageHeader take_early_header(std::string_view bytes, ImageReader& in);
[[nodiscard]] bool scale_in_range(vector::Storage storage, const vector::RowScale& scale) noexcept;

}  // namespace scrubjay::engine
