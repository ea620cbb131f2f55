// Reading the parts of an image: copies and checks every value.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/interruption.hpp"
#include "engine/image_parts.hpp"
#include "lexical/posting.hpp"
#include "text/term_key.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {
namespace {

[[nodiscard]] bool is_ascii(std::string_view bytes) noexcept {
  unsigned char all = 0;
  for (const char byte : bytes) all |= static_cast<unsigned char>(byte);
  return all < 0x80;
}

[[nodiscard]] uint32_t n_present(std::string_view exponents) noexcept {
  uint32_t n = 0;
  for (size_t at = 0; at < exponents.size(); at += sizeof(int16_t)) {
    int16_t exponent;
    std::memcpy(&exponent, exponents.data() + at, sizeof exponent);
    n += exponent != vector::RowScales::kNoVector ? 1u : 0u;
  }
  return n;
}

}  // namespace

bool scale_in_range(const vector::RowScale& scale) noexcept {
  int exponent = 0;
  return std::isfinite(scale.scale) && scale.scale > 0.0f && std::frexp(scale.scale, &exponent) == 0.5f &&
         std::isfinite(scale.factor) && scale.factor > 0.0f && std::isfinite(scale.square) &&
         scale.square >= 0.0f;
}

void ChunkParts::read(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                      const ImageIdentity& identity) {
  const bool is_early = header.version < kImageVersion;
  read_documents(chunk, header, in);
  const bool several = (header.flags & ImageHeader::kPassages) != 0;
  if (header.n_with_column != 0 || (header.dim != 0 && !several))
    (is_early ? read_early_vectors : read_vectors)(chunk, header, in, identity);
  if (several) read_passages(chunk, header, in, identity);
  (is_early ? read_early_terms : read_terms)(chunk, header, in);
  if (!in.empty()) in.fail("bytes after the end");
  chunk.n_live_.store(header.n_docs, std::memory_order_relaxed);
  chunk.n_docs_.store(header.n_docs, std::memory_order_release);
}

void ChunkParts::read_documents(Chunk& chunk, const ImageHeader& header, ImageReader& in) {
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
  const bool all_ascii = is_ascii(texts);
  uint64_t at = 0, total_length = 0, payload_bytes = 0;
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
    if (!all_ascii && (text::valid_utf8_prefix(texts.substr(at, id_size)) != id_size ||
                       text::valid_utf8_prefix(text) != text.size())) {
      in.fail("a text that is not UTF-8");
    }
    chunk.records_.data()[i] = {bytes + at, image.id, image.text_size, image.payload_size, 0};
    at += id_size + image.text_size + payload_size;
    payload_bytes += payload_size;
    const uint32_t code = chunk.length_codes_.data()[i];
    if (code > lexical::kMaxLengthCode) in.fail("a length");
    greatest_code = std::max(greatest_code, code);
    total_length += lexical::decode_length(code);
  }
  if (at != texts.size()) in.fail("the size of the texts");
  chunk.n_deferred_ = n;
  chunk.n_deferred_payload_bytes_.store(static_cast<uint32_t>(std::min<uint64_t>(payload_bytes, 0xffffffffu)),
                                        std::memory_order_relaxed);
  chunk.max_length_code_.store(greatest_code, std::memory_order_relaxed);
  chunk.total_length_.store(total_length, std::memory_order_relaxed);
}

void ChunkParts::read_vectors(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                              const ImageIdentity& identity) {
  vector::ColumnOptions options = identity.vectors;
  options.dim = header.dim;
  const size_t n = header.n_with_column;
  vector::StoredColumn stored;
  stored.n_docs = header.n_with_column;
  stored.exponents = in.take(n * sizeof(int16_t));
  if (options.metric != vector::Metric::inner_product) stored.values = in.take(n * sizeof(float));
  const uint32_t n_rows = n_present(stored.exponents);
  stored.rows = in.take(size_t{n_rows} * options.row_bytes());
  stored.coded = (header.flags & ImageHeader::kCodes) != 0;
  if (stored.coded != (n >= vector::Column::kCodedDocs && options.dim >= vector::kLeastCodedDim))
    in.fail("the number of codes");
  if (stored.coded) {
    stored.codes.factors = in.take(n * sizeof(float));
    if (options.metric == vector::Metric::l2) stored.codes.biases = in.take(n * sizeof(float));
    stored.codes.errors = in.take(n * sizeof(vector::CodeError));
    stored.codes.codes = in.take(n_rows * vector::code_bytes(options.dim));
  }
  auto column = std::make_unique<vector::Column>(options);
  if (!column->adopt(stored)) in.fail("a vector");
  chunk.n_vectors_.fetch_add(n_rows, std::memory_order_relaxed);
  chunk.vectors_.store(column.release(), std::memory_order_relaxed);
}

void ChunkParts::read_passages(Chunk& chunk, const ImageHeader& header, ImageReader& in,
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
    if (!scale_in_range(scales[i]) ||
        !vector::stored_row_in_range(options, rows.data() + i * options.row_bytes()))
      in.fail("a vector");
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

void ChunkParts::read_terms(Chunk& chunk, const ImageHeader& header, ImageReader& in) {
  lexical::FrozenPostings::Source source;
  source.n_terms = header.n_terms;
  source.long_terms = in.take(header.long_term_bytes);
  source.short_keys = in.take(uint64_t{header.n_short_terms} * sizeof(uint64_t));
  source.counts = in.take(uint64_t{header.n_terms} * sizeof(uint16_t));
  source.bounds = in.take(uint64_t{header.n_bounds} * sizeof(lexical::FrozenPostings::Bounds));
  source.offsets = in.take(uint64_t{header.n_postings} * sizeof(uint16_t));
  source.payloads = in.take(uint64_t{header.n_postings} * sizeof(uint16_t));
  source.length_codes = {chunk.length_codes_.read(), header.n_docs};
  if (header.n_terms == 0) {
    if ((header.n_short_terms | header.n_bounds | header.n_postings | header.long_term_bytes) != 0)
      in.fail("the number of terms");
    return;
  }
  if (!lexical::PostingTable::is_tiny(header.n_terms, header.n_docs)) return chunk.postings_.freeze(source);
  // For a few documents, all postings are copied one by one.
  const lexical::FrozenPostings::Owner frozen = lexical::FrozenPostings::make(source);
  for (uint32_t term = 0; term < frozen->n_terms(); ++term) {
    const lexical::FrozenPostings::List list = frozen->list(term);
    uint64_t key = frozen->key(term);
    std::string_view bytes;
    if (!text::is_packed(key)) {
      const char* at = source.long_terms.data() + frozen->term_at(term);
      bytes = {at + 1, static_cast<unsigned char>(*at)};
      key = text::term_key(bytes);
    }
    if (!chunk.postings_.adopt(key, bytes, {list.offsets, list.n}, {list.payloads, list.n}))
      in.fail("a term twice");
  }
}

}  // namespace scrubjay::engine
