#include "engine/image.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "engine/image_bytes.hpp"
#include "lexical/posting.hpp"
#include "text/term_key.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {
namespace {

constexpr char kMagic[8] = {'S', 'J', 'C', 'H', 'U', 'N', 'K', '\n'};
constexpr uint32_t kNoOffset = 0xffffffffu;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t n_docs;
  uint64_t analyzer;  // hash of the name
  uint32_t dim;       // 0: no vectors
  uint8_t storage;
  uint8_t metric;
  uint8_t id_kind;
  uint8_t unused;
  uint32_t n_with_column;  // documents that the vector column reaches
  uint32_t n_terms;
  uint64_t text_bytes;
  uint64_t body_bytes;
  uint64_t checksum;  // of the header with this field zero, and the body
};
static_assert(sizeof(Header) == 64 && std::is_trivially_copyable_v<Header>);
static_assert(std::endian::native == std::endian::little, "images are little-endian");

struct RecordImage {
  int64_t id;  // an integer id, or the size of a string id
  uint32_t text_size;
  uint32_t payload_size;  // as in Chunk::Record
};
static_assert(sizeof(RecordImage) == 16);

// Precedes the passages, in an image that has some.
struct PassagesImage {
  uint32_t n_docs;  // that have them
  uint32_t n;       // of all documents
};
static_assert(sizeof(PassagesImage) == 8);

struct EntryImage {
  uint32_t doc;
  uint32_t n;  // of its passages
};
static_assert(sizeof(EntryImage) == 8 && sizeof(vector::PassageSpan) == 8);

struct ListImage {
  uint64_t key = 0;  // the one in memory
  std::string_view long_term;
  std::string_view offsets, payloads;  // the bytes of 16-bit numbers, at any address
};

[[nodiscard]] uint64_t checksum_of(Header header, std::string_view body) {
  header.checksum = 0;
  return checksum(body, checksum({reinterpret_cast<const char*>(&header), sizeof header}, 0));
}

// Every element of a stored row is at most 1 in magnitude (column.hpp), which also rules out NaN and
// infinity, and one is not zero. `Signed` has the elements' width: without the sign bit IEEE numbers order
// like integers, and the greatest of signed ones is what the baseline's vector instructions can find.
template <class Signed>
[[nodiscard]] bool row_in_range(const char* row, uint32_t n, Signed magnitude_mask, Signed one) noexcept {
  Signed greatest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    Signed word;
    std::memcpy(&word, row + i * sizeof word, sizeof word);
    const auto magnitude = static_cast<Signed>(word & magnitude_mask);
    greatest = magnitude > greatest ? magnitude : greatest;
  }
  return greatest <= one && greatest != 0;
}

[[nodiscard]] bool scale_in_range(const vector::RowScale& scale) noexcept {
  int exponent = 0;
  return std::isfinite(scale.scale) && scale.scale > 0.0f && std::frexp(scale.scale, &exponent) == 0.5f &&
         std::isfinite(scale.factor) && scale.factor > 0.0f && std::isfinite(scale.square) &&
         scale.square >= 0.0f;
}

[[nodiscard]] bool stored_in_range(const vector::ColumnOptions& options, const vector::RowScale& scale,
                                   const char* row) noexcept {
  const bool in_range = options.storage == vector::Storage::f16
                            ? row_in_range<int16_t>(row, options.padded_dim(), 0x7fff, 0x3c00)
                            : row_in_range<int32_t>(row, options.padded_dim(), 0x7fffffff, 0x3f800000);
  return in_range && scale_in_range(scale);
}

}  // namespace

// The chunk's private parts, for images only.
struct ChunkParts {
  using Record = Chunk::Record;
  static constexpr uint32_t kNoPayload = Chunk::kNoPayload;

  static void write(const Chunk& chunk, const ImageIdentity& identity, std::string& out);
  static void read(Chunk& chunk, const Header& header, ImageReader& in, const ImageIdentity& identity);
  static void digest(const Chunk& chunk, uint64_t first, Digest& digest);

 private:
  // Live documents by their old offsets, and the new offset of each.
  static void number_live(const Chunk& chunk, std::vector<uint32_t>& live, std::vector<uint32_t>& renumbered);
  static void write_terms(const Chunk& chunk, const std::vector<uint32_t>& renumbered, Header& header,
                          std::string& out);
  static void read_documents(Chunk& chunk, const Header& header, ImageReader& in);
  static void read_vectors(Chunk& chunk, const Header& header, ImageReader& in,
                           const ImageIdentity& identity);
  static void write_passages(const Chunk& chunk, const std::vector<uint32_t>& renumbered, Header& header,
                             std::string& out);
  static void read_passages(Chunk& chunk, const Header& header, ImageReader& in,
                            const ImageIdentity& identity);
  static void read_terms(Chunk& chunk, const Header& header, ImageReader& in);
  [[nodiscard]] static ListImage read_list(const Header& header, ImageReader& in);
};

void ChunkParts::number_live(const Chunk& chunk, std::vector<uint32_t>& live,
                             std::vector<uint32_t>& renumbered) {
  const uint32_t n_docs = chunk.n_docs();
  renumbered.assign(n_docs, kNoOffset);
  live.clear();
  for (uint32_t offset = 0; offset < n_docs; ++offset) {
    if (chunk.dead(offset)) continue;
    renumbered[offset] = static_cast<uint32_t>(live.size());
    live.push_back(offset);
  }
}

void ChunkParts::write(const Chunk& chunk, const ImageIdentity& identity, std::string& out) {
  std::vector<uint32_t> live, renumbered;
  number_live(chunk, live, renumbered);
  const vector::Column* column = chunk.vectors();
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kPlainImageVersion;
  header.n_docs = static_cast<uint32_t>(live.size());
  header.analyzer = base::hash64(identity.analyzer);
  header.storage = static_cast<uint8_t>(identity.vectors.storage);
  header.metric = static_cast<uint8_t>(identity.vectors.metric);
  header.id_kind = static_cast<uint8_t>(chunk.id_kind_);
  out.clear();
  out.reserve(sizeof header + chunk.memory_bytes());
  put_value(out, header);  // again below, when it is known

  const Record* records = chunk.records_.read();
  for (const uint32_t offset : live) {
    const Record& record = records[offset];
    put_value(out, RecordImage{record.id, record.text_size, record.payload_size});
  }
  for (const uint32_t offset : live) put_value(out, chunk.length_codes_.read()[offset]);
  for (const uint32_t offset : live) {
    if (offset % 256 == 0) base::interruption_point();
    const Record& record = records[offset];
    const size_t size = (chunk.id_kind_ == IdKind::string ? static_cast<size_t>(record.id) : 0) +
                        record.text_size + (record.payload_size == kNoPayload ? 0 : record.payload_size);
    if (size != 0) out.append(record.bytes, size);
    header.text_bytes += size;
  }
  if (column) {
    header.dim = column->options().dim;
    while (header.n_with_column < live.size() && live[header.n_with_column] < column->size())
      ++header.n_with_column;
    for (uint32_t i = 0; i < header.n_with_column; ++i) put_value(out, column->scales()[live[i]]);
    for (uint32_t i = 0; i < header.n_with_column; ++i) {
      if (column->has(live[i])) out.append(column->rows().row(live[i]), column->rows().row_bytes());
    }
  }
  if (chunk.passages()) write_passages(chunk, renumbered, header, out);
  write_terms(chunk, renumbered, header, out);
  header.body_bytes = out.size() - sizeof header;
  header.checksum = checksum_of(header, std::string_view(out).substr(sizeof header));
  std::memcpy(out.data(), &header, sizeof header);
}

// The documents that have passages and how many; spans, scales and rows of all of them.
void ChunkParts::write_passages(const Chunk& chunk, const std::vector<uint32_t>& renumbered, Header& header,
                                std::string& out) {
  const vector::Passages& passages = *chunk.passages();
  const vector::Column& column = passages.rows();
  std::vector<vector::PassageEntry> live;
  for (const vector::PassageEntry& entry : passages.entries(static_cast<uint32_t>(renumbered.size()))) {
    if (renumbered[entry.doc] != kNoOffset) live.push_back(entry);
  }
  if (live.empty()) return;
  header.version = kImageVersion;
  header.dim = column.options().dim;
  PassagesImage counts{static_cast<uint32_t>(live.size()), 0};
  for (const vector::PassageEntry& entry : live) counts.n += entry.n;
  put_value(out, counts);
  for (const vector::PassageEntry& entry : live) put_value(out, EntryImage{renumbered[entry.doc], entry.n});
  const auto for_each_row = [&](auto&& visit) {
    for (const vector::PassageEntry& entry : live)
      for (uint32_t row = entry.first; row < entry.first + entry.n; ++row) visit(row);
  };
  for_each_row([&](uint32_t row) { put_value(out, passages.span(row)); });
  for_each_row([&](uint32_t row) { put_value(out, column.scales()[row]); });
  for_each_row([&](uint32_t row) { out.append(column.rows().row(row), column.rows().row_bytes()); });
}

// A term: its stored key, for a long one its bytes behind a length byte, the number of postings, offsets,
// payloads. Ascending by key: equal chunks are equal bytes in every process.
void ChunkParts::write_terms(const Chunk& chunk, const std::vector<uint32_t>& renumbered, Header& header,
                             std::string& out) {
  std::vector<uint16_t> offsets, payloads;
  chunk.postings_.for_each([&](const lexical::PostingTable::List& list) {
    base::interruption_point();
    offsets.clear();
    payloads.clear();
    for (uint32_t i = 0; i < list.n; ++i) {
      // An unpublished remainder of a failed write lies past the numbered documents.
      if (list.offsets[i] >= renumbered.size() || renumbered[list.offsets[i]] == kNoOffset) continue;
      offsets.push_back(static_cast<uint16_t>(renumbered[list.offsets[i]]));
      payloads.push_back(list.payloads[i]);
    }
    if (offsets.empty()) return;
    ++header.n_terms;
    put_value(out, list.key);
    if (list.key >> 63 != 0) {
      put_value(out, static_cast<uint8_t>(list.long_term.size()));
      out.append(list.long_term);
    }
    put_value(out, static_cast<uint32_t>(offsets.size()));
    put_array(out, offsets);
    put_array(out, payloads);
  });
}

void ChunkParts::read(Chunk& chunk, const Header& header, ImageReader& in, const ImageIdentity& identity) {
  read_documents(chunk, header, in);
  const bool several = header.version == kImageVersion;
  if (header.n_with_column != 0 || (header.dim != 0 && !several)) read_vectors(chunk, header, in, identity);
  if (several) read_passages(chunk, header, in, identity);
  read_terms(chunk, header, in);
  if (!in.empty()) in.fail("bytes after the end");
  chunk.n_live_.store(header.n_docs, std::memory_order_relaxed);
  chunk.n_docs_.store(header.n_docs, std::memory_order_release);
}

void ChunkParts::read_documents(Chunk& chunk, const Header& header, ImageReader& in) {
  const uint32_t n = header.n_docs;
  chunk.id_kind_ = static_cast<IdKind>(header.id_kind);
  chunk.records_.reserve(n, 0);
  chunk.length_codes_.reserve(n, 0);
  const std::string_view records = in.take(size_t{n} * sizeof(RecordImage));
  const std::string_view codes = in.take(size_t{n} * sizeof(uint16_t));
  const std::string_view texts = in.take(header.text_bytes);
  char* bytes = chunk.texts_.allocate(texts.size());
  if (!texts.empty()) std::memcpy(bytes, texts.data(), texts.size());
  if (n != 0) std::memcpy(chunk.length_codes_.data(), codes.data(), codes.size());
  uint64_t at = 0, total_length = 0;
  uint32_t greatest_code = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (i % 256 == 0) base::interruption_point();
    RecordImage image;
    std::memcpy(&image, records.data() + i * sizeof image, sizeof image);
    uint64_t id_size = 0;
    if (chunk.id_kind_ == IdKind::string) {
      if (image.id < 1 || image.id > 65535) in.fail("an id's size");
      id_size = static_cast<uint64_t>(image.id);
    }
    const uint64_t payload_size = image.payload_size == kNoPayload ? 0 : image.payload_size;
    if (id_size + image.text_size + payload_size > texts.size() - at) in.fail("a text's size");
    const std::string_view text = texts.substr(at + id_size, image.text_size);
    if (text::valid_utf8_prefix(texts.substr(at, id_size)) != id_size ||
        text::valid_utf8_prefix(text) != text.size()) {
      in.fail("a text that is not UTF-8");
    }
    chunk.records_.data()[i] = {bytes + at, image.id, image.text_size, image.payload_size, 0};
    at += id_size + image.text_size + payload_size;
    if (payload_size != 0)
      chunk.add_attributes(i, {bytes + at - payload_size, static_cast<size_t>(payload_size)});
    const uint32_t code = chunk.length_codes_.data()[i];
    if (code > lexical::kMaxLengthCode) in.fail("a length");
    greatest_code = std::max(greatest_code, code);
    total_length += lexical::decode_length(code);
  }
  if (at != texts.size()) in.fail("the size of the texts");
  chunk.max_length_code_.store(greatest_code, std::memory_order_relaxed);
  chunk.total_length_.store(total_length, std::memory_order_relaxed);
}

void ChunkParts::read_vectors(Chunk& chunk, const Header& header, ImageReader& in,
                              const ImageIdentity& identity) {
  vector::ColumnOptions options = identity.vectors;
  options.dim = header.dim;
  const std::string_view scales = in.take(size_t{header.n_with_column} * sizeof(vector::RowScale));
  auto column = std::make_unique<vector::Column>(options);
  column->reserve_rows(header.n_with_column);
  for (uint32_t i = 0; i < header.n_with_column; ++i) {
    vector::RowScale scale;
    std::memcpy(&scale, scales.data() + i * sizeof scale, sizeof scale);
    if (scale.scale == 0.0f) {
      column->append(i, {});
      continue;
    }
    const char* row = in.take(options.row_bytes()).data();
    if (!stored_in_range(options, scale, row)) in.fail("a vector");
    column->append_stored(i, scale, row);
    chunk.n_vectors_.fetch_add(1, std::memory_order_relaxed);
  }
  chunk.vectors_.store(column.release(), std::memory_order_relaxed);
}

void ChunkParts::read_passages(Chunk& chunk, const Header& header, ImageReader& in,
                               const ImageIdentity& identity) {
  vector::ColumnOptions options = identity.vectors;
  options.dim = header.dim;
  const auto counts = in.value<PassagesImage>();
  if (counts.n_docs == 0 || counts.n_docs > header.n_docs || counts.n < counts.n_docs ||
      counts.n > vector::Passages::kMaxRows) {
    in.fail("the number of passages");
  }
  const size_t n = counts.n;
  const std::string_view entries = in.take(size_t{counts.n_docs} * sizeof(EntryImage));
  const std::string_view span_bytes = in.take(n * sizeof(vector::PassageSpan));
  const std::string_view scale_bytes = in.take(n * sizeof(vector::RowScale));
  const std::string_view rows = in.take(n * options.row_bytes());
  std::vector<vector::PassageSpan> spans(n);
  std::vector<vector::RowScale> scales(n);
  std::memcpy(spans.data(), span_bytes.data(), span_bytes.size());
  std::memcpy(scales.data(), scale_bytes.data(), scale_bytes.size());
  for (size_t i = 0; i < n; ++i) {
    if (spans[i].start > spans[i].end) in.fail("a passage");
    if (!stored_in_range(options, scales[i], rows.data() + i * options.row_bytes())) in.fail("a vector");
  }
  auto passages = std::make_unique<vector::Passages>(options);
  size_t first = 0;
  uint32_t next_doc = 0;
  const vector::Column* column = chunk.vectors_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < counts.n_docs; ++i) {
    base::interruption_point();
    EntryImage entry;
    std::memcpy(&entry, entries.data() + i * sizeof entry, sizeof entry);
    if (entry.doc < next_doc || entry.doc >= header.n_docs || entry.n == 0 ||
        entry.n > vector::Passages::kMaxPerDocument || entry.n > n - first ||
        (column && column->has(entry.doc))) {
      in.fail("a document's passages");
    }
    passages->append(entry.doc, std::span(scales).subspan(first, entry.n),
                     rows.data() + first * options.row_bytes(), std::span(spans).subspan(first, entry.n));
    first += entry.n;
    next_doc = entry.doc + 1;
  }
  if (first != n) in.fail("the number of passages");
  passages->publish(header.n_docs);
  chunk.n_vectors_.fetch_add(counts.n_docs, std::memory_order_relaxed);
  chunk.passages_.store(passages.release(), std::memory_order_relaxed);
}

void ChunkParts::read_terms(Chunk& chunk, const Header& header, ImageReader& in) {
  // A term takes 16 bytes here at least, so a false count cannot ask for more memory than the image has
  // bytes.
  if (header.n_terms > in.left() / 16) in.fail("the number of terms");
  chunk.postings_.reserve_terms(header.n_terms, header.n_docs);
  const uint16_t* codes = chunk.length_codes_.read();
  std::vector<uint16_t> offsets, payloads;
  const auto adopt = [&](const ListImage& list) {
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
  };
  // The table has an order of its own, so that each list would wait for its slot: those of some are asked for
  // first.
  constexpr uint32_t kAtOnce = 16;
  ListImage lists[kAtOnce];
  for (uint32_t t = 0; t < header.n_terms;) {
    base::interruption_point();
    const uint32_t n = std::min(kAtOnce, header.n_terms - t);
    for (uint32_t i = 0; i < n; ++i) {
      lists[i] = read_list(header, in);
      chunk.postings_.prefetch(lists[i].key);
    }
    for (uint32_t i = 0; i < n; ++i) adopt(lists[i]);
    t += n;
  }
}

// A list as it stands in the image, its term checked.
ListImage ChunkParts::read_list(const Header& header, ImageReader& in) {
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

void ChunkParts::digest(const Chunk& chunk, uint64_t first, Digest& digest) {
  std::vector<uint32_t> live, renumbered;
  number_live(chunk, live, renumbered);
  const auto mix = [](uint64_t a, uint64_t b) {
    return base::mix64(a ^ 0x9e3779b97f4a7c15ull, b ^ 0xe7037ed1a0b428dbull);
  };
  const vector::Column* column = chunk.vectors();
  const vector::Passages* passages = chunk.passages();
  uint64_t total_length = 0;
  for (const uint32_t offset : live) {
    if (offset % 256 == 0) base::interruption_point();
    const uint64_t doc = first + renumbered[offset];
    const std::optional<std::string_view> payload = chunk.payload(offset);
    uint64_t hash = mix(chunk.id(offset).stored_hash(), base::hash64(chunk.text(offset)));
    hash = mix(hash, payload ? base::hash64(*payload) : 1);
    digest.documents += mix(mix(hash, chunk.length_codes_.read()[offset]), doc);
    total_length += lexical::decode_length(chunk.length_codes_.read()[offset]);
    const auto hash_of = [&](const vector::Column& of, uint32_t row) {
      const vector::RowScale scale = of.scales()[row];
      const uint64_t bytes = base::hash64({of.rows().row(row), of.rows().row_bytes()});
      return mix(bytes, base::hash64({reinterpret_cast<const char*>(&scale), sizeof scale}));
    };
    if (column && column->has(offset)) {
      ++digest.n_vectors;
      digest.vectors += mix(hash_of(*column, offset), doc);
    } else if (const vector::PassageEntry* entry = passages ? passages->find(offset) : nullptr) {
      ++digest.n_vectors;
      uint64_t several = entry->n;
      for (uint32_t row = entry->first; row < entry->first + entry->n; ++row) {
        const vector::PassageSpan span = passages->span(row);
        several = mix(several, mix(hash_of(passages->rows(), row), uint64_t{span.start} << 32 | span.end));
      }
      digest.vectors += mix(several, doc);
    }
  }
  digest.n_docs += live.size();
  if (live.size() != chunk.n_live() || total_length != chunk.total_length_.load(std::memory_order_relaxed))
    ++digest.n_miscounted;
  digest.total_length += total_length;
  chunk.postings_.for_each([&](const lexical::PostingTable::List& list) {
    base::interruption_point();
    const uint64_t term = mix(list.key, base::hash64(list.long_term));
    uint32_t n_dead = 0;
    for (uint32_t i = 0; i < list.n; ++i) {
      if (list.offsets[i] >= renumbered.size()) continue;
      if (renumbered[list.offsets[i]] == kNoOffset) {
        ++n_dead;
        continue;
      }
      ++digest.n_postings;
      digest.postings += mix(mix(term, list.payloads[i]), first + renumbered[list.offsets[i]]);
    }
    if (list.n_dead != lexical::PostingTable::kNotCounted && list.n_dead != n_dead) ++digest.n_miscounted;
  });
}

std::string write_image(const Chunk& chunk, const ImageIdentity& identity) {
  std::string out;
  ChunkParts::write(chunk, identity, out);
  return out;
}

ChunkRef read_image(std::string_view bytes, const ScopeRef& scope, const ImageIdentity& identity) {
  ImageReader in(bytes);
  const auto header = in.value<Header>();
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) in.fail("the magic number");
  if (header.version != kPlainImageVersion && header.version != kImageVersion) in.fail("the version");
  if (header.body_bytes != in.left()) in.fail("the size");
  if (header.checksum != checksum_of(header, bytes.substr(sizeof header))) in.fail("the checksum");
  if (header.analyzer != base::hash64(identity.analyzer)) in.fail("the analyzer");
  if (header.storage != static_cast<uint8_t>(identity.vectors.storage) ||
      header.metric != static_cast<uint8_t>(identity.vectors.metric)) {
    in.fail("the kind of vectors");
  }
  const auto kind = static_cast<IdKind>(header.id_kind);
  if ((kind != IdKind::integer && kind != IdKind::string) ||
      (identity.id_kind != IdKind::unset && kind != identity.id_kind))
    in.fail("the kind of ids");
  if (header.n_docs == 0 || header.n_docs > kMaxChunkDocs || header.n_with_column > header.n_docs)
    in.fail("the number of documents");
  if (header.dim > vector::kMaxDim ||
      (header.dim == 0 && (header.n_with_column != 0 || header.version == kImageVersion)) ||
      (header.dim != 0 && identity.vectors.dim != 0 && header.dim != identity.vectors.dim)) {
    in.fail("the dimension");
  }
  auto* chunk = new Chunk(scope);
  const ChunkRef owner(chunk);
  chunk->drop_reference();  // the owner holds it now
  ChunkParts::read(*chunk, header, in, identity);
  return owner;
}

uint64_t image_checksum(std::string_view image) noexcept {
  Header header{};
  if (image.size() >= sizeof header) std::memcpy(&header, image.data(), sizeof header);
  return header.checksum;
}

void add_digest(const Chunk& chunk, uint64_t first, Digest& digest) {
  ChunkParts::digest(chunk, first, digest);
}

}  // namespace scrubjay::engine
