#include "engine/image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "engine/image_parts.hpp"
#include "engine/image_stream.hpp"
#include "lexical/posting.hpp"
#include "text/term_key.hpp"

namespace scrubjay::engine {
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
  ImageHeader header{};
  std::memcpy(header.magic, kImageMagic, sizeof kImageMagic);
  header.version = kImageVersion;
  header.n_docs = static_cast<uint32_t>(live.size());
  header.analyzer = base::hash64(identity.analyzer);
  header.storage = static_cast<uint8_t>(identity.vectors.storage);
  header.metric = static_cast<uint8_t>(identity.vectors.metric);
  header.id_kind = static_cast<uint8_t>(chunk.id_kind_);
  out.clear();
  out.reserve(sizeof header + chunk.memory_bytes());
  put_value(out, header);  // overwritten below, when it is complete

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
  if (const vector::Column* column = chunk.vectors()) write_vectors(*column, live, header, out);
  if (chunk.passages()) write_passages(chunk, renumbered, header, out);
  write_terms(chunk, renumbered, header, out);
  header.body_bytes = out.size() - sizeof header;
  header.checksum = block_checksum(std::string_view(out).substr(sizeof header), checksum_of(header));
  std::memcpy(out.data(), &header, sizeof header);
}

void ChunkParts::write_vectors(const vector::Column& column, const std::vector<uint32_t>& live,
                               ImageHeader& header, std::string& out) {
  header.dim = column.options().dim;
  while (header.n_with_column < live.size() && live[header.n_with_column] < column.size())
    ++header.n_with_column;
  const auto documents = std::span(live).first(header.n_with_column);
  const vector::RowScales scales = column.scales();
  for (const uint32_t doc : documents) put_value(out, scales.exponent(doc));
  if (column.options().metric != vector::Metric::inner_product)
    for (const uint32_t doc : documents) put_value(out, scales.value(doc));
  for (const uint32_t doc : documents)
    if (column.has(doc)) out.append(column.rows().row(doc), column.rows().row_bytes());
  const vector::Codes* codes = column.codes();
  if (!codes || documents.size() < vector::Column::kCodedDocs || codes->size() <= documents.back()) return;
  header.flags |= ImageHeader::kCodes;
  for (const uint32_t doc : documents) put_value(out, codes->factors()[doc]);
  if (column.options().metric == vector::Metric::l2)
    for (const uint32_t doc : documents) put_value(out, codes->biases()[doc]);
  for (const uint32_t doc : documents) put_value(out, codes->errors()[doc]);
  for (const uint32_t doc : documents)
    if (codes->errors()[doc].has_code()) out.append(codes->rows().row(doc), codes->rows().row_bytes());
}

// Writes the documents with passages and their numbers of passages, then spans, scales and rows
// of all passages.
void ChunkParts::write_passages(const Chunk& chunk, const std::vector<uint32_t>& renumbered,
                                ImageHeader& header, std::string& out) {
  const vector::Passages& passages = *chunk.passages();
  const vector::Column& column = passages.rows();
  std::vector<vector::PassageEntry> live;
  for (const vector::PassageEntry& entry : passages.entries(static_cast<uint32_t>(renumbered.size()))) {
    if (renumbered[entry.doc] != kNoOffset) live.push_back(entry);
  }
  if (live.empty()) return;
  header.flags |= ImageHeader::kPassages;
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

// In the order of the lists: equal chunks give equal bytes in every process.
void ChunkParts::write_terms(const Chunk& chunk, const std::vector<uint32_t>& renumbered, ImageHeader& header,
                             std::string& out) {
  std::vector<uint16_t> offsets, payloads;
  std::string keys, counts, bounds, all_offsets, all_payloads;
  uint64_t n_postings = 0, long_term_bytes = 0;
  chunk.postings_.for_each([&](const lexical::PostingTable::List& list) {
    base::interruption_point();
    offsets.clear();
    payloads.clear();
    for (uint32_t i = 0; i < list.n; ++i) {
      // Unpublished postings of a failed write are beyond the numbered documents.
      if (list.offsets[i] >= renumbered.size() || renumbered[list.offsets[i]] == kNoOffset) continue;
      offsets.push_back(static_cast<uint16_t>(renumbered[list.offsets[i]]));
      payloads.push_back(list.payloads[i]);
    }
    if (offsets.empty()) return;
    ++header.n_terms;
    if (!text::is_packed(list.key)) {
      put_value(out, static_cast<uint8_t>(list.long_term.size()));
      out.append(list.long_term);
      long_term_bytes += 1 + list.long_term.size();
    } else {
      put_value(keys, list.key);
      ++header.n_short_terms;
    }
    put_value(counts, static_cast<uint16_t>(offsets.size() - 1));
    if (offsets.size() > lexical::FrozenPostings::kMostBare) {
      put_value(bounds, lexical::FrozenPostings::bounds_of(payloads));
      ++header.n_bounds;
    }
    put_array(all_offsets, offsets);
    put_array(all_payloads, payloads);
    n_postings += offsets.size();
  });
  if (n_postings > 0xffffffffu || long_term_bytes > 0xffffffffu)
    throw base::Error("image of a chunk: expected less than 2^32 postings");
  header.n_postings = static_cast<uint32_t>(n_postings);
  header.long_term_bytes = static_cast<uint32_t>(long_term_bytes);
  out.append(keys).append(counts).append(bounds).append(all_offsets).append(all_payloads);
}

std::string write_image(const Chunk& chunk, const ImageIdentity& identity) {
  std::string out;
  ChunkParts::write(chunk, identity, out);
  return out;
}

namespace {

[[nodiscard]] bool is_current_image(std::string_view bytes) noexcept {
  ImageHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.magic, kImageMagic, sizeof kImageMagic) == 0 && header.version == kImageVersion;
}

}  // namespace

void check_header(const ImageHeader& header, const vector::ColumnOptions& vectors, IdKind id_kind,
                  uint64_t analyzer) {
  if (header.analyzer != analyzer) corrupt_image("the analyzer");
  if (header.storage != static_cast<uint8_t>(vectors.storage) ||
      header.metric != static_cast<uint8_t>(vectors.metric)) {
    corrupt_image("the kind of vectors");
  }
  const auto kind = static_cast<IdKind>(header.id_kind);
  if ((kind != IdKind::integer && kind != IdKind::string) || (id_kind != IdKind::unset && kind != id_kind))
    corrupt_image("the kind of ids");
  if (header.n_docs == 0 || header.n_docs > kMaxChunkDocs || header.n_with_column > header.n_docs)
    corrupt_image("the number of documents");
  const bool has_vectors = header.n_with_column != 0 || (header.flags & ImageHeader::kPassages) != 0;
  if (header.dim > vector::kMaxDim || (header.dim == 0 && has_vectors) ||
      (header.dim != 0 && vectors.dim != 0 && header.dim != vectors.dim)) {
    corrupt_image("the dimension");
  }
}

ChunkRef read_image(std::string_view bytes, const ScopeRef& scope, const ImageIdentity& identity) {
  if (!is_early_image(bytes)) {
    ImageStream stream(scope, identity, bytes.size());
    stream.add(bytes);
    return stream.finish();
  }
  ImageReader in(bytes);
  const ImageHeader header = take_early_header(bytes, in);
  check_header(header, identity.vectors, identity.id_kind, base::hash64(identity.analyzer));
  auto* chunk = new Chunk(scope);
  const ChunkRef owner(chunk);
  chunk->drop_reference();  // the owner has a reference now
  ChunkParts::read_early(*chunk, header, in, identity);
  return owner;
}

ArrivingImage::ArrivingImage(const ScopeRef& scope, const ImageIdentity& identity, size_t n_bytes)
    : n_bytes_(n_bytes), stream_(std::make_unique<ImageStream>(scope, identity, n_bytes)) {}
ArrivingImage::ArrivingImage(ArrivingImage&&) noexcept = default;
ArrivingImage::~ArrivingImage() = default;

void ArrivingImage::add(std::string_view bytes) {
  constexpr size_t kMostReserved = size_t{1} << 30;
  if (!is_header_complete_) {
    const std::string_view first = bytes.substr(0, sizeof(ImageHeader) - collected_.size());
    collected_.append(first);
    bytes.remove_prefix(first.size());
    if (collected_.size() < sizeof(ImageHeader)) return;
    is_header_complete_ = true;
    if (is_current_image(collected_)) {
      stream_->add(collected_);
    } else {
      stream_.reset();
      collected_.reserve(std::min(n_bytes_, kMostReserved));
    }
  }
  if (stream_) {
    stream_->add(bytes);
  } else {
    collected_.append(bytes);
  }
}

void ArrivingImage::next_places(size_t n_bytes, std::vector<base::Place>& out) const {
  if (stream_ && is_header_complete_) stream_->next_places(n_bytes, out);
}

ChunkRef ArrivingImage::chunk(const ScopeRef& scope, const ImageIdentity& identity) {
  return stream_ && is_header_complete_ ? stream_->finish() : read_image(collected_, scope, identity);
}

uint64_t image_checksum(std::string_view image) noexcept {
  const size_t at = is_early_image(image) ? kEarlyChecksum : offsetof(ImageHeader, checksum);
  uint64_t checksum = 0;
  if (image.size() >= at + sizeof checksum) std::memcpy(&checksum, image.data() + at, sizeof checksum);
  return checksum;
}

void add_digest(const Chunk& chunk, uint64_t first, Digest& digest) {
  ChunkParts::digest(chunk, first, digest);
}

}  // namespace scrubjay::engine
