#include "engine/image_stream.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "vector/passages.hpp"

namespace scrubjay::engine {
namespace {

// Small enough to stay in the first two caches between the checksum and the copy.
constexpr size_t kPieceBytes = size_t{1} << 15;

}  // namespace

ImageStream::ImageStream(const ScopeRef& scope, const ImageIdentity& identity, size_t n_bytes)
    : scope_(scope),
      vectors_(identity.vectors),
      id_kind_(identity.id_kind),
      analyzer_(base::hash64(identity.analyzer)),
      n_left_(n_bytes) {
  place_next();
}

void ImageStream::claim(uint64_t n_bytes) {
  if (n_bytes > n_left_) corrupt_image("the size");
  n_left_ -= n_bytes;
}

void ImageStream::add(std::string_view bytes) {
  while (!bytes.empty()) {
    base::interruption_point();
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    bytes.remove_prefix(piece.size());
    add_piece(piece);
  }
}

void ImageStream::next_places(size_t n_bytes, std::vector<base::Place>& out) const {
  size_t n_filled = n_filled_;
  for (size_t i = place_; i < places_.size() && n_bytes != 0; ++i, n_filled = 0) {
    const size_t n = std::min(n_bytes, places_[i].n_bytes - n_filled);
    if (n != 0) out.push_back({places_[i].memory + n_filled, n});
    n_bytes -= n;
  }
}

void ImageStream::add_piece(std::string_view bytes) {
  if (checksum_) checksum_->add(bytes);
  while (!bytes.empty()) {
    while (place_ == places_.size()) {
      const bool in_header = section_ == Section::header;
      place_next();
      if (in_header) checksum_->add(bytes);
    }
    const base::Place& place = places_[place_];
    const size_t n = std::min(bytes.size(), place.n_bytes - n_filled_);
    if (n != 0 && bytes.data() != place.memory + n_filled_)
      std::memcpy(place.memory + n_filled_, bytes.data(), n);
    bytes.remove_prefix(n);
    n_filled_ += n;
    if (place_ < n_row_places_) check_rows(place.memory + n_filled_);
    if (n_filled_ < place.n_bytes) return;
    ++place_;
    n_filled_ = n_checked_ = 0;
  }
}

// Checks the rows of the current place up to `end`, while they are in the cache.
void ImageStream::check_rows(const char* end) noexcept {
  const size_t row_bytes = vectors_.row_bytes();
  for (const char* row = places_[place_].memory + n_checked_; static_cast<size_t>(end - row) >= row_bytes;
       row += row_bytes) {
    rows_in_range_ &= vector::stored_row_in_range(vectors_, row);
    n_checked_ += row_bytes;
  }
}

// Sections without a place are passed over.
void ImageStream::place_next() {
  places_.clear();
  place_ = n_row_places_ = 0;
  switch (section_) {
    case Section::none:
      section_ = Section::header;
      claim(sizeof header_);
      places_.push_back({reinterpret_cast<char*>(&header_), sizeof header_});
      return;
    case Section::header:
      section_ = Section::documents;
      return place_documents();
    case Section::documents:
      section_ = Section::scales;
      if (place_scales()) return;
      [[fallthrough]];
    case Section::scales:
      section_ = Section::rows;
      if (column_) return place_rows();
      [[fallthrough]];
    case Section::rows:
      section_ = Section::passage_counts;
      if (place_passage_counts()) return;
      [[fallthrough]];
    case Section::passage_counts:
      section_ = Section::passages;
      if (!passages_.empty()) return place_passages();
      [[fallthrough]];
    case Section::passages:
      section_ = Section::terms;
      return place_terms();
    case Section::terms:
      corrupt_image("bytes after the end");
  }
}

void ImageStream::place_documents() {
  if (std::memcmp(header_.magic, kImageMagic, sizeof kImageMagic) != 0) corrupt_image("the magic number");
  if (header_.version != kImageVersion) corrupt_image("the version");
  if (header_.body_bytes > n_left_) corrupt_image("the size");
  n_left_ = header_.body_bytes;
  check_header(header_, vectors_, id_kind_, analyzer_);
  vectors_.dim = header_.dim;
  checksum_.emplace(checksum_of(header_));
  const size_t record_bytes = header_.n_docs * sizeof(RecordImage);
  claim(record_bytes);
  claim(header_.n_docs * sizeof(uint16_t));
  claim(header_.text_bytes);
  chunk_ = new Chunk(scope_);
  owner_ = ChunkRef(chunk_);
  chunk_->drop_reference();  // the owner has a reference now
  records_ = std::make_unique_for_overwrite<char[]>(record_bytes);
  const ChunkParts::DocumentPlaces places = ChunkParts::place_documents(*chunk_, header_);
  texts_ = places.texts;
  places_ = {{records_.get(), record_bytes}, places.length_codes, places.texts};
}

bool ImageStream::place_scales() {
  const bool several = (header_.flags & ImageHeader::kPassages) != 0;
  if (header_.n_with_column == 0 && (header_.dim == 0 || several)) return false;
  const bool has_values = vectors_.metric != vector::Metric::inner_product;
  claim(header_.n_with_column * (sizeof(int16_t) + (has_values ? sizeof(float) : 0)));
  column_ = std::make_unique<vector::Column>(vectors_);
  column_->place_scales(header_.n_with_column, places_);
  return true;
}

void ImageStream::place_rows() {
  const uint32_t n = header_.n_with_column;
  const bool coded = (header_.flags & ImageHeader::kCodes) != 0;
  if (coded != (n >= vector::Column::kCodedDocs && header_.dim >= vector::kLeastCodedDim))
    corrupt_image("the number of codes");
  claim(column_->n_placed_rows(n) * vectors_.row_bytes());
  column_->place_rows(n, places_);
  n_row_places_ = places_.size();
  if (!coded) return;
  claim(column_->placed_code_bytes(n));
  column_->place_codes(n, places_);
}

bool ImageStream::place_passage_counts() {
  if ((header_.flags & ImageHeader::kPassages) == 0) return false;
  claim(sizeof(PassagesImage));
  passages_.resize(sizeof(PassagesImage));
  places_.push_back({passages_.data(), passages_.size()});
  return true;
}

void ImageStream::place_passages() {
  PassagesImage counts;
  std::memcpy(&counts, passages_.data(), sizeof counts);
  const uint64_t n_bytes =
      uint64_t{counts.n_docs} * sizeof(EntryImage) +
      uint64_t{counts.n} * (sizeof(vector::PassageSpan) + sizeof(vector::RowScale) + vectors_.row_bytes());
  claim(n_bytes);
  passages_.resize(sizeof counts + n_bytes);
  places_.push_back({passages_.data() + sizeof counts, n_bytes});
}

void ImageStream::place_terms() {
  const size_t number_bytes =
      size_t{header_.n_short_terms} * sizeof(uint64_t) + header_.n_terms * sizeof(uint16_t);
  const size_t n_bytes = header_.long_term_bytes + number_bytes +
                         header_.n_bounds * sizeof(lexical::FrozenPostings::Bounds) +
                         size_t{header_.n_postings} * 2 * sizeof(uint16_t);
  if (n_bytes != n_left_) corrupt_image("the size of the terms");
  claim(n_bytes);
  if (ChunkParts::is_frozen(header_)) {
    term_numbers_ = std::make_unique_for_overwrite<char[]>(number_bytes);
    places_ = {ChunkParts::place_long_terms(*chunk_, header_), {term_numbers_.get(), number_bytes}};
    long_terms_ = places_[0];
    frozen_ = lexical::FrozenPostings::place(header_.n_terms, header_.n_short_terms, header_.n_bounds,
                                             header_.n_postings, places_);
  } else {
    term_numbers_ = std::make_unique_for_overwrite<char[]>(n_bytes);
    places_.push_back({term_numbers_.get(), n_bytes});
  }
}

ChunkRef ImageStream::finish() {
  while (true) {
    for (; place_ < places_.size() && n_filled_ == places_[place_].n_bytes; ++place_) n_filled_ = 0;
    if (place_ < places_.size()) corrupt_image("the size");
    if (section_ == Section::terms) break;
    place_next();  // sections without bytes
  }
  if (!checksum_ || checksum_->value() != header_.checksum) corrupt_image("the checksum");
  const std::string_view records(records_.get(), header_.n_docs * sizeof(RecordImage));
  ChunkParts::check_documents(*chunk_, header_, records, texts_);
  if (column_) {
    const uint32_t n_vectors = column_->n_placed_rows(header_.n_with_column);
    if (!rows_in_range_ || !column_->settle(header_.n_with_column)) corrupt_image("a vector");
    ChunkParts::install_vectors(*chunk_, std::move(column_), n_vectors);
  }
  if (!passages_.empty()) {
    ImageReader in({passages_.data(), passages_.size()});
    ChunkParts::read_passages(*chunk_, header_, in, vectors_);
  }
  if (frozen_) {
    ChunkParts::settle_terms(*chunk_, header_, long_terms_, term_numbers_.get(), std::move(frozen_));
  } else {
    ImageReader in({term_numbers_.get(), places_[0].n_bytes});
    ChunkParts::read_few_terms(*chunk_, header_, in);
  }
  ChunkParts::complete(*chunk_, header_);
  return std::move(owner_);
}

}  // namespace scrubjay::engine
