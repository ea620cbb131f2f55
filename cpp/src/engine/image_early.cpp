// Reads images of versions 1 and 2, which earlier versions of Scrubjay wrote. They are never written.
//
// Their vectors are scales and rows, without codes, and terms are stored beside their lists, in any order.

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/interruption.hpp"
#include "engine/image_parts.hpp"
#include "lexical/posting.hpp"
#include "text/term_key.hpp"

namespace scrubjay::engine {
namespace {

constexpr uint32_t kPlainVersion = 1, kPassagesVersion = 2;

struct EarlyHeader {
  char magic[8];
  uint32_t version;
  uint32_t n_docs;
  uint64_t analyzer;
  uint32_t dim;
  uint8_t storage;
  uint8_t metric;
  uint8_t id_kind;
  uint8_t unused;
  uint32_t n_with_column;
  uint32_t n_terms;
  uint64_t text_bytes;
  uint64_t body_bytes;
  uint64_t checksum;  // of the header, with this field zero, and the body
};
static_assert(sizeof(EarlyHeader) == 64 && offsetof(EarlyHeader, checksum) == kEarlyChecksum);

struct ListImage {
  uint64_t key = 0;  // the key in memory
  std::string_view long_term;
  std::string_view offsets, payloads;  // bytes of 16-bit numbers, unaligned
};

// Reads a list of the image and checks its term.
[[nodiscard]] ListImage read_list(const ImageHeader& header, ImageReader& in) {
  ListImage list;
  const auto stored = in.value<uint64_t>();
  if (text::is_packed(stored)) {
    const uint64_t size = stored >> 56;
    if (size < 1 || size > text::kMaxPackedBytes || (stored & text::kPackedBytes) >> (8 * size) != 0)
      in.fail("a term");
    list.key = stored;
  } else {
    list.long_term = in.take(in.value<uint8_t>());
    if (list.long_term.size() <= text::kMaxPackedBytes || text::stored_term_key(list.long_term) != stored)
      in.fail("a term");
    list.key = text::term_key(list.long_term);
  }
  const auto n = in.value<uint32_t>();
  if (n == 0 || n > header.n_docs) in.fail("a number of postings");
  list.offsets = in.take(uint64_t{n} * sizeof(uint16_t));
  list.payloads = in.take(uint64_t{n} * sizeof(uint16_t));
  return list;
}

}  // namespace

bool is_early_image(std::string_view bytes) noexcept {
  EarlyHeader header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.magic, kImageMagic, sizeof kImageMagic) == 0 &&
         (header.version == kPlainVersion || header.version == kPassagesVersion);
}

ImageHeader take_early_header(std::string_view bytes, ImageReader& in) {
  auto early = in.value<EarlyHeader>();
  if (early.body_bytes != in.left()) in.fail("the size");
  const uint64_t stored = early.checksum;
  early.checksum = 0;
  const uint64_t of_header = checksum({reinterpret_cast<const char*>(&early), sizeof early}, 0);
  if (stored != checksum(bytes.substr(sizeof early), of_header)) in.fail("the checksum");
  ImageHeader header{};
  std::memcpy(header.magic, early.magic, sizeof header.magic);
  header.version = early.version;
  header.n_docs = early.n_docs;
  header.analyzer = early.analyzer;
  header.dim = early.dim;
  header.storage = early.storage;
  header.metric = early.metric;
  header.id_kind = early.id_kind;
  header.flags = early.version == kPassagesVersion ? ImageHeader::kPassages : uint8_t{0};
  header.n_with_column = early.n_with_column;
  header.n_terms = early.n_terms;
  header.text_bytes = early.text_bytes;
  return header;
}

void ChunkParts::read_early_vectors(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                                    const ImageIdentity& identity) {
  vector::ColumnOptions options = identity.vectors;
  options.dim = header.dim;
  const std::string_view scales = in.take(size_t{header.n_with_column} * sizeof(vector::RowScale));
  auto column = std::make_unique<vector::Column>(options);
  for (uint32_t i = 0; i < header.n_with_column; ++i) {
    vector::RowScale scale;
    std::memcpy(&scale, scales.data() + i * sizeof scale, sizeof scale);
    if (scale.scale == 0.0f) {
      column->append(i, {});
      continue;
    }
    const char* row = in.take(options.row_bytes()).data();
    if (!scale_in_range(options.storage, scale) || !vector::stored_row_in_range(options, row))
      in.fail("a vector");
    column->append_stored(i, scale, row);
    chunk.n_vectors_.fetch_add(1, std::memory_order_relaxed);
  }
  chunk.vectors_.store(column.release(), std::memory_order_relaxed);
}

void ChunkParts::read_early_terms(Chunk& chunk, const ImageHeader& header, ImageReader& in) {
  // A term takes at least 16 bytes here, so a forged count cannot allocate more than the image has.
  if (header.n_terms > in.left() / 16) in.fail("the number of terms");
  const uint16_t* codes = chunk.length_codes_.read();
  std::vector<uint16_t> offsets, payloads;
  for (uint32_t t = 0; t < header.n_terms; ++t) {
    base::interruption_point();
    const ListImage list = read_list(header, in);
    copy_array(list.offsets, offsets);
    copy_array(list.payloads, payloads);
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] >= header.n_docs || (i != 0 && offsets[i] <= offsets[i - 1]))
        in.fail("a posting's document");
      if (lexical::payload_tf(payloads[i]) == 0 ||
          lexical::payload_length_code(payloads[i]) != codes[offsets[i]])
        in.fail("a posting");
    }
    if (!chunk.postings_.adopt(list.key, list.long_term, offsets, payloads)) in.fail("a term twice");
  }
}

}  // namespace scrubjay::engine
