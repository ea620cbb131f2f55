// Reading the parts of an image: checks every value.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "engine/image_parts.hpp"
#include "lexical/posting.hpp"
#include "text/term_key.hpp"
#include "text/utf8.hpp"
#include "vector/exponent.hpp"

namespace scrubjay::engine {
namespace {

[[nodiscard]] bool is_ascii(std::string_view bytes) noexcept {
  constexpr size_t kStep = 4096;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kStep, bytes.size()))) {
    unsigned char all = 0;
    for (const char byte : bytes.substr(0, kStep)) all |= static_cast<unsigned char>(byte);
    if (all >= 0x80) return false;
  }
  return true;
}

}  // namespace

bool scale_in_range(vector::Storage storage, const vector::RowScale& scale) noexcept {
  const uint32_t fraction_bits = vector::exponent_fraction_bits(storage);
  return std::isfinite(scale.scale) && scale.scale > 0.0f &&
         vector::scale_of_exponent(vector::exponent_of_scale(scale.scale, fraction_bits), fraction_bits) ==
             scale.scale &&
         std::isfinite(scale.factor) && scale.factor > 0.0f && std::isfinite(scale.square) &&
         scale.square >= 0.0f;
}

void ChunkParts::read_early(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                            const ImageIdentity& identity) {
  const uint32_t n = header.n_docs;
  const std::string_view records = in.take(size_t{n} * sizeof(RecordImage));
  const std::string_view codes = in.take(size_t{n} * sizeof(uint16_t));
  const std::string_view texts = in.take(header.text_bytes);
  const auto [code_place, text_place] = place_documents(chunk, header);
  std::memcpy(code_place.memory, codes.data(), codes.size());
  if (!texts.empty()) std::memcpy(text_place.memory, texts.data(), texts.size());
  check_documents(chunk, header, records, text_place);
  const bool several = (header.flags & ImageHeader::kPassages) != 0;
  if (header.n_with_column != 0 || (header.dim != 0 && !several))
    read_early_vectors(chunk, header, in, identity);
  if (several) read_passages(chunk, header, in, identity.vectors);
  read_early_terms(chunk, header, in);
  if (!in.empty()) in.fail("bytes after the end");
  complete(chunk, header);
}

void ChunkParts::complete(Chunk& chunk, const ImageHeader& header) noexcept {
  chunk.n_live_.store(header.n_docs, std::memory_order_relaxed);
  chunk.n_docs_.store(header.n_docs, std::memory_order_release);
}

ChunkParts::DocumentPlaces ChunkParts::place_documents(Chunk& chunk, const ImageHeader& header) {
  chunk.id_kind_ = static_cast<IdKind>(header.id_kind);
  chunk.records_.reserve(header.n_docs, 0);
  chunk.length_codes_.reserve(header.n_docs, 0);
  return {{reinterpret_cast<char*>(chunk.length_codes_.data()), header.n_docs * sizeof(uint16_t)},
          {chunk.texts_.allocate(header.text_bytes), header.text_bytes}};
}

void ChunkParts::check_documents(Chunk& chunk, const ImageHeader& header, std::string_view records,
                                 const base::Place& place) {
  const uint32_t n = header.n_docs;
  const char* bytes = place.memory;
  const std::string_view texts(bytes, place.n_bytes);
  const bool all_ascii = is_ascii(texts);
  uint64_t at = 0, total_length = 0, payload_bytes = 0;
  uint32_t greatest_code = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (i % 256 == 0) base::interruption_point();
    RecordImage image;
    std::memcpy(&image, records.data() + i * sizeof image, sizeof image);
    uint64_t id_size = 0;
    if (chunk.id_kind_ == IdKind::string) {
      if (image.id < 1 || image.id > 65535) corrupt_image("an id's size");
      id_size = static_cast<uint64_t>(image.id);
    }
    const uint64_t payload_size = image.payload_size == kNoPayload ? 0 : image.payload_size;
    if (id_size + image.text_size + payload_size > texts.size() - at) corrupt_image("a text's size");
    const std::string_view text = texts.substr(at + id_size, image.text_size);
    if (!all_ascii && (text::valid_utf8_prefix(texts.substr(at, id_size)) != id_size ||
                       text::valid_utf8_prefix(text) != text.size())) {
      corrupt_image("a text that is not UTF-8");
    }
    chunk.records_.data()[i] = {bytes + at, image.id, image.text_size, image.payload_size, 0};
    at += id_size + image.text_size + payload_size;
    payload_bytes += payload_size;
    const uint32_t code = chunk.length_codes_.data()[i];
    if (code > lexical::kMaxLengthCode) corrupt_image("a length");
    greatest_code = std::max(greatest_code, code);
    total_length += lexical::decode_length(code);
  }
  if (at != texts.size()) corrupt_image("the size of the texts");
  chunk.n_deferred_ = n;
  chunk.n_deferred_payload_bytes_.store(static_cast<uint32_t>(std::min<uint64_t>(payload_bytes, 0xffffffffu)),
                                        std::memory_order_relaxed);
  chunk.max_length_code_.store(greatest_code, std::memory_order_relaxed);
  chunk.total_length_.store(total_length, std::memory_order_relaxed);
}

void ChunkParts::install_vectors(Chunk& chunk, std::unique_ptr<vector::Column> column,
                                 uint32_t n_vectors) noexcept {
  chunk.n_vectors_.fetch_add(n_vectors, std::memory_order_relaxed);
  chunk.vectors_.store(column.release(), std::memory_order_relaxed);
}

void ChunkParts::read_passages(Chunk& chunk, const ImageHeader& header, ImageReader& in,
                               const vector::ColumnOptions& vectors) {
  vector::ColumnOptions options = vectors;
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
    if (!scale_in_range(options.storage, scales[i]) ||
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

base::Place ChunkParts::place_long_terms(Chunk& chunk, const ImageHeader& header) {
  return chunk.postings_.place_long_terms(header.long_term_bytes);
}

void ChunkParts::settle_terms(Chunk& chunk, const ImageHeader& header, const base::Place& long_terms,
                              const char* numbers, lexical::FrozenPostings::Owner frozen) {
  const size_t key_bytes = header.n_short_terms * sizeof(uint64_t);
  lexical::FrozenPostings::Source source;
  source.n_terms = header.n_terms;
  source.short_keys = {numbers, key_bytes};
  source.counts = {numbers + key_bytes, header.n_terms * sizeof(uint16_t)};
  source.long_terms = {long_terms.memory, long_terms.n_bytes};
  source.length_codes = {chunk.length_codes_.read(), header.n_docs};
  frozen->settle(source);
  chunk.postings_.install(std::move(frozen), long_terms.n_bytes);
}

void ChunkParts::read_few_terms(Chunk& chunk, const ImageHeader& header, ImageReader& in) {
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
  // All postings are copied one by one.
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
