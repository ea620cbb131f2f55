#include "vector/code_scan.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/growing.hpp"
#include "simd/kernels.hpp"
#include "vector/rescoring.hpp"

namespace scrubjay::vector {
namespace {

constexpr uint32_t kWord = 64;  // documents per word of a bitmap
// If the signs leave more than one in kMostSifted documents, all codes are compared: in order they take half
// the time. To avoid comparing the remaining signs in that case, an eighth of the documents is tried first,
// with a stricter limit since it is only an estimate.
constexpr size_t kMostSifted = 2, kMostTried = 4;
constexpr uint32_t kTriedShare = 8;
// Added to the margin for signs: as errors are normal, a third as many exceed it.
constexpr float kRarer = 0.3f;

// Grows a buffer that is only written; it keeps its size between searches, since growing it fills
// it with zeros.
template <class T>
void make_room(std::vector<T>& buffer, size_t n) {
  if (buffer.size() < n) buffer.resize(n);
}

[[nodiscard]] uint32_t halved(uint32_t sortable) noexcept { return sortable >> 1; }

// The bound of documents that cannot be found: no vector, deleted, hidden.
const uint32_t kNothing = halved(base::sortable_float(-std::numeric_limits<float>::infinity()));

constexpr uint32_t kRows = base::RowBlocks::kRowsPerBlock;

// Calls bound(begin, end) for ranges of the documents in [first, n_docs) that have codes, or are between
// documents with codes, each within one block of rows; the other documents get kNothing. A block extends only
// as far as codes were stored in it, and does not exist without codes.
template <class Bound>
void for_coded(const CodeError* errors, uint32_t first, uint32_t n_docs, uint32_t* bounds, Bound&& bound) {
  for (uint32_t next = first; next < n_docs;) {
    uint32_t begin = next, end = std::min(n_docs, (next / kRows + 1) * kRows);
    const auto place = [&](uint32_t doc) { return bounds + (doc - first); };
    while (begin < end && !errors[begin].has_code()) ++begin;
    std::fill(place(next), place(begin), kNothing);
    next = end;
    while (end > begin && !errors[end - 1].has_code()) --end;
    std::fill(place(end), place(next), kNothing);
    if (begin < end) bound(begin, end, place(begin));
  }
}

// Documents that will probably be scored, found while codes are still compared: their originals are
// prefetched, and the documents to be scored are selected among them instead of among all. The guess is based
// on the bounds of the first whole block; a wrong guess does not change the result.
class LikelyDocuments {
 public:
  // For n documents from `first` on, which are identified by their positions after it.
  LikelyDocuments(const ChunkVectors& vectors, uint32_t first, size_t n, const base::TopK& best,
                  CodeScanScratch& scratch)
      : column_(*vectors.column), dead_(vectors.dead), first_(first), positions_(scratch.likely) {
    constexpr size_t kForEach = 4, kFew = 16, kOnTheirWay = 10;
    constexpr uint32_t kLeastStep = 256;
    const size_t row_bytes = column_.options().row_bytes();
    if (n * row_bytes <= kNearRowBytes || n < 2 * kRows) return;  // near, or nothing to guess from
    const size_t n_expected = kForEach * best.k() + kFew;
    n_of_block_ = n_expected * kRows / n + 1;
    if (n_of_block_ > kRows / 4) return;  // as well take all
    n_to_announce_ = std::min(2 * n_expected, kNearRowBytes / 2 / row_bytes);
    while (step_ > kLeastStep && n_of_block_ * step_ > kOnTheirWay * kRows) step_ /= 2;
    make_room(positions_, n + 16);
    wanted_ = true;
  }

  [[nodiscard]] bool wanted() const noexcept { return wanted_; }
  // Number of bounds computed between two calls of see(): no more originals than can be prefetched together.
  [[nodiscard]] uint32_t step() const noexcept { return step_; }
  [[nodiscard]] bool knows() const noexcept { return least_ != kUnknown; }
  // Makes the guess from the bounds of a whole block.
  void guess(const uint32_t* bounds) noexcept {
    least_ = std::max(simd::kernels().kth_greatest(bounds, kRows, n_of_block_, kNothing), kNothing + 1);
  }
  // Takes the bounds of documents [from, from + n). All later ones must be passed, too.
  void see(uint32_t from, const uint32_t* bounds, uint32_t n) noexcept {
    uint32_t* const positions = positions_.data() + n_;
    size_t n_found = simd::kernels().select_above(bounds, n / 16 * 16, least_ - 1, positions);
    for (uint32_t i = n / 16 * 16; i < n; ++i) {
      positions[n_found] = i;
      n_found += bounds[i] >= least_ ? 1 : 0;
    }
    for (size_t i = 0; i < n_found; ++i) {
      const uint32_t doc = from + positions[i];
      positions[i] = doc - first_;
      if (n_to_announce_ == 0 || (dead_ && dead_->test(doc))) continue;
      --n_to_announce_;
      announce_document(column_, doc);
    }
    n_ += n_found;
  }
  // Notes that documents before the guess were missed.
  void forget() noexcept { missed_ = true; }

  // Whether all documents with bounds from this one on are among the positions.
  [[nodiscard]] bool holds(uint32_t bound) const noexcept { return !missed_ && bound >= least_; }
  [[nodiscard]] std::span<const uint32_t> positions() const noexcept { return {positions_.data(), n_}; }

 private:
  static constexpr uint32_t kUnknown = 0xffffffffu;

  const Column& column_;
  const base::Bitmap* const dead_;
  const uint32_t first_;
  std::vector<uint32_t>& positions_;
  size_t n_ = 0;
  size_t n_of_block_ = 0, n_to_announce_ = 0;
  uint32_t step_ = kRows;
  uint32_t least_ = kUnknown;  // the guess
  bool wanted_ = false, missed_ = false;
};

// Computes the bounds of documents [first, n_docs), whether they count or not.
void bound_by_codes(const Codes& codes, uint32_t first, uint32_t n_docs, const PreparedQuery& query,
                    float margin, CodeScanScratch& scratch, uint32_t* bounds,
                    LikelyDocuments* likely = nullptr) {
  const simd::Kernels& kernels = simd::kernels();
  const CodeQuery& code = query.code;
  const float* factors = codes.factors();
  const float* biases = codes.biases();
  const CodeError* errors = codes.errors();
  make_room(scratch.dots, kRows);
  for_coded(errors, first, n_docs, bounds, [&](uint32_t begin, uint32_t end, uint32_t* out) {
    int32_t* dots = scratch.dots.data();
    const auto bound = [&](uint32_t from, uint32_t n) {
      kernels.dot_codes(reinterpret_cast<const uint8_t*>(codes.rows().row(from)), n, codes.n_blocks(),
                        code.elements.data(), dots);
      kernels.bound_codes(dots, factors + from, biases ? biases + from : nullptr, &errors[from].bits, n,
                          code.offset, code.scale, margin * code.length, code.shift, out + (from - begin));
    };
    if (!likely) return bound(begin, end - begin);
    if (!likely->knows()) {
      bound(begin, end - begin);
      if (end - begin < kRows) return likely->forget();
      likely->guess(out);
      return likely->see(begin, out, kRows);
    }
    for (uint32_t from = begin; from < end; from += likely->step()) {
      const uint32_t n = std::min(likely->step(), end - from);
      bound(from, n);
      likely->see(from, out + (from - begin), n);
    }
  });
}

// The same from the signs, which all of these documents must have; scratch.signs is prepared.
void bound_by_signs(const Codes& codes, uint32_t first, uint32_t end_doc, const PreparedQuery& query,
                    float margin, CodeScanScratch& scratch, uint32_t* bounds) {
  const simd::Kernels& kernels = simd::kernels();
  const CodeQuery& code = query.code;
  const Signs& signs = *codes.signs();
  const float* factors = signs.factors();
  const float* biases = codes.biases();
  const CodeError* errors = signs.errors();
  constexpr uint32_t kPlane = Signs::kPlaneDocs;
  static_assert(kPlane == simd::kPlaneDocs && kRows % kPlane == 0);
  make_room(scratch.dots, kRows);
  for_coded(errors, first, end_doc, bounds, [&](uint32_t begin, uint32_t end, uint32_t* out) {
    const uint32_t from = begin / kPlane * kPlane, n_planes = (end - from + kPlane - 1) / kPlane;
    kernels.sum_signs(signs.plane(from), n_planes, scratch.signs.elements.size() / 4,
                      scratch.signs.tables.data(), scratch.dots.data());
    kernels.bound_codes(scratch.dots.data() + (begin - from), factors + begin,
                        biases ? biases + begin : nullptr, &errors[begin].bits, end - begin,
                        scratch.signs.offset, scratch.signs.scale, margin * code.length, code.shift, out);
  });
}

// Sets the bounds of deleted documents in [first, n_docs) to kNothing.
void hide_dead(const base::Bitmap* dead, uint32_t first, uint32_t n_docs, uint32_t* bounds) {
  if (!dead) return;
  const uint32_t n = (n_docs - first + 15) / 16 * 16;
  if (first % 16 == 0 && dead->n_words() * kWord >= first + n) {  // a filter may hide most of them
    simd::kernels().hide(bounds, n, dead->words(), first, kNothing);
    return;
  }
  for (uint32_t word = first / kWord; word * kWord < n_docs; ++word) {
    for (uint64_t bits = dead->word(word); bits != 0; bits &= bits - 1) {
      const uint32_t doc = word * kWord + static_cast<uint32_t>(std::countr_zero(bits));
      if (doc >= first && doc < n_docs) bounds[doc - first] = kNothing;
    }
  }
}

// A bound that k documents and a third more reach: the k-th greatest of the maxima of about 2k groups.
// With this many originals the first threshold is nearly final; with more groups fewer are scored first
// and more afterwards.
[[nodiscard]] uint32_t seed_bound(const uint32_t* bounds, size_t n, size_t k, CodeScanScratch& scratch) {
  const size_t group = std::max<size_t>(1, n / (2 * k));
  make_room(scratch.maxima, n + 16);
  const size_t n_groups = simd::kernels().group_maxima(bounds, n, group, scratch.maxima.data());
  return std::max(simd::kernels().kth_greatest(scratch.maxima.data(), n_groups, k, kNothing), kNothing + 1);
}

// The least bound of a document that can exceed a threshold.
[[nodiscard]] uint32_t bound_of(uint64_t threshold) noexcept {
  return std::max(halved(base::key_score(threshold)), kNothing + 1);
}

// Scores the documents that can be among the best by their bounds. score(positions, n_positions) replaces
// positions in the bounds by documents, and writes their similarities to scratch.scores. `likely`: documents
// to look at first, or null.
template <class Score>
size_t look_at(uint32_t chunk, size_t n, const LikelyDocuments* likely, CodeScanScratch& scratch,
               base::TopK& best, Score&& score) {
  const size_t padded = (n + 15) / 16 * 16;
  std::fill(scratch.bounds.data() + n, scratch.bounds.data() + padded, kNothing);
  make_room(scratch.positions, padded + 16);  // including what a kernel may write beyond
  const auto offer = [&](const uint32_t* docs, size_t n_scored) {
    best.push_all(n_scored,
                  [&](size_t i) { return base::candidate_key(scratch.scores[i], (chunk << 16) | docs[i]); });
  };
  const simd::Kernels& kernels = simd::kernels();
  uint32_t* positions = scratch.positions.data();
  const auto select = [&](uint32_t from) {  // positions of bounds from this one on
    if (!likely || !likely->holds(from))
      return kernels.select_above(scratch.bounds.data(), padded, from - 1, positions);
    size_t n_found = 0;
    for (const uint32_t position : likely->positions()) {
      positions[n_found] = position;
      n_found += scratch.bounds[position] >= from ? 1 : 0;
    }
    return n_found;
  };
  size_t n_scored = 0;
  uint32_t scored_from = 0xffffffffu;  // greater bounds are done
  if (best.threshold() == 0) {
    scored_from = seed_bound(scratch.bounds.data(), padded, best.k(), scratch);
    n_scored = select(scored_from);
    score(positions, n_scored);
    // Tighter than the threshold of many candidates, which is tight to a bin only; and most need
    // not be offered.
    if (n_scored >= best.k()) {
      make_room(scratch.maxima, n_scored);
      for (size_t i = 0; i < n_scored; ++i) scratch.maxima[i] = halved(scratch.scores[i]);
      best.raise_threshold(2 * kernels.kth_greatest(scratch.maxima.data(), n_scored, best.k(), 0));
    }
    offer(positions, n_scored);
  }
  const uint32_t reached = bound_of(best.threshold());
  if (reached >= scored_from) return n_scored;
  size_t n_reached = select(reached);
  if (scored_from != 0xffffffffu) {
    size_t n_left = 0;
    for (size_t i = 0; i < n_reached; ++i) {
      positions[n_left] = positions[i];
      n_left += scratch.bounds[positions[i]] < scored_from ? 1 : 0;
    }
    n_reached = n_left;
  }
  score(positions, n_reached);
  offer(positions, n_reached);
  return n_scored + n_reached;
}

// The same if a document is a row of a column. `doc_of`: the document at a position in the bounds.
template <class DocOf>
size_t look_at_originals(const Column& column, uint32_t chunk, size_t n, const LikelyDocuments* likely,
                         const PreparedQuery& query, CodeScanScratch& scratch, base::TopK& best,
                         DocOf&& doc_of) {
  return look_at(chunk, n, likely, scratch, best, [&](uint32_t* docs, size_t n_scored) {
    for (size_t i = 0; i < n_scored; ++i) docs[i] = doc_of(docs[i]);
    scratch.scores.resize(n_scored);
    score_documents(column, docs, n_scored, query, scratch.scores.data());
  });
}

// Replaces entries at some positions by their documents, and writes the similarities of their nearest
// passages to scratch.scores. Returns the number of passages.
size_t score_entries(const Passages& passages, std::span<const PassageEntry> entries, uint32_t* positions,
                     size_t n, const PreparedQuery& query, CodeScanScratch& scratch) {
  scratch.rows.clear();
  for (size_t i = 0; i < n; ++i) {
    const PassageEntry& entry = entries[positions[i]];
    for (uint32_t row = entry.first; row < entry.first + entry.n; ++row) scratch.rows.push_back(row);
  }
  scratch.row_scores.resize(scratch.rows.size());
  score_documents(passages.rows(), scratch.rows.data(), scratch.rows.size(), query,
                  scratch.row_scores.data());
  scratch.scores.resize(n);
  size_t next = 0;
  for (size_t i = 0; i < n; ++i) {
    const PassageEntry& entry = entries[positions[i]];
    positions[i] = entry.doc;
    scratch.scores[i] =
        *std::max_element(scratch.row_scores.begin() + static_cast<ptrdiff_t>(next),
                          scratch.row_scores.begin() + static_cast<ptrdiff_t>(next + entry.n));
    next += entry.n;
  }
  return scratch.rows.size();
}

// Computes the bounds of scattered documents from their codes.
template <class DocOf>
void bound_picked(const Codes& codes, size_t n_docs, DocOf&& doc_of, const PreparedQuery& query, float margin,
                  uint32_t* bounds) {
  // Codes are compared sixteen at a time, while later ones are prefetched: not too many at once, or they
  // delay each other while nothing is compared.
  constexpr size_t kAtOnce = 16, kAhead = 48, kRing = 64;
  static_assert(kAhead + kAtOnce <= kRing && kRing % kAtOnce == 0);
  const simd::Kernels& kernels = simd::kernels();
  const CodeQuery& code = query.code;
  const base::RowBlocks& all_rows = codes.rows();
  const size_t row_bytes = all_rows.row_bytes();
  const float* all_factors = codes.factors();
  const float* all_biases = codes.biases();
  const CodeError* all_errors = codes.errors();
  const uint8_t* rows[kRing];
  float factors[kAtOnce], biases[kAtOnce];
  CodeError errors[kAtOnce];
  int32_t dots[kAtOnce];
  static constexpr uint8_t kNoCode[code_bytes(kMaxDim)] = {};
  size_t n_announced = 0;
  const auto announce = [&](size_t end) {
    for (end = std::min(end, n_docs); n_announced < end; ++n_announced) {
      const uint32_t offset = doc_of(n_announced);
      const uint8_t* row =
          all_errors[offset].has_code() ? reinterpret_cast<const uint8_t*>(all_rows.row(offset)) : kNoCode;
      for (size_t byte = 0; byte < row_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(row + byte);
      rows[n_announced % kRing] = row;
    }
  };
  announce(kAhead);
  for (size_t begin = 0; begin < n_docs; begin += kAtOnce) {
    const size_t n = std::min(kAtOnce, n_docs - begin);
    announce(begin + kAtOnce + kAhead);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t offset = doc_of(begin + i);
      factors[i] = all_factors[offset];
      if (all_biases) biases[i] = all_biases[offset];
      errors[i] = all_errors[offset];
    }
    kernels.dot_picked_codes(rows + begin % kRing, n, codes.n_blocks(), code.elements.data(), dots);
    kernels.bound_codes(dots, factors, all_biases ? biases : nullptr, &errors[0].bits, n, code.offset,
                        code.scale, margin * code.length, code.shift, bounds + begin);
  }
}

// A bound that the best `k` of the documents [first, first + n) reach, from the codes of those that seem near
// by their signs.
[[nodiscard]] uint32_t reached_bound(const Codes& codes, uint32_t first, const uint32_t* bounds, size_t n,
                                     size_t k, const PreparedQuery& query, float margin,
                                     CodeScanScratch& scratch) {
  constexpr size_t kSeeds = 3;  // per wanted document
  const simd::Kernels& kernels = simd::kernels();
  uint32_t* seeds = scratch.positions.data();
  const uint32_t seed = seed_bound(bounds, n, kSeeds * k, scratch);
  const size_t n_seeds = kernels.select_above(bounds, n, seed - 1, seeds);
  scratch.least.resize(n_seeds);
  bound_picked(
      codes, n_seeds, [&](size_t i) { return first + seeds[i]; }, query, -margin, scratch.least.data());
  return std::max(kernels.kth_greatest(scratch.least.data(), n_seeds, k, kNothing), kNothing + 1);
}

// Leaves in scratch.sifted the documents of [first_doc, n_docs) that can be among the best according to
// their signs. Returns false if that would not help, because there are few documents or too many can be
// among the best.
bool sift(const ChunkVectors& vectors, const Codes& codes, uint32_t first_doc, uint32_t n_docs,
          const PreparedQuery& query, float margin, CodeScanScratch& scratch, const base::TopK& best) {
  constexpr uint32_t kPlane = Signs::kPlaneDocs;
  const uint32_t first = (first_doc + kPlane - 1) / kPlane * kPlane;
  const uint32_t end = std::min(codes.signs()->size(), n_docs / kPlane * kPlane);
  const size_t k = best.k(), n = n_docs - first_doc, padded = (n + 15) / 16 * 16;
  if (end <= first || !is_worth_sifting(end - first, k)) return false;
  margin += kRarer;
  prepare_sign_query(query.code, scratch.signs);
  make_room(scratch.positions, padded + 16);
  const simd::Kernels& kernels = simd::kernels();
  uint32_t* bounds = scratch.bounds.data();
  uint32_t* positions = scratch.positions.data();
  const auto reached_by = [&](uint32_t from, size_t n_bounds, size_t wanted) {
    if (best.threshold() != 0) return bound_of(best.threshold());
    return reached_bound(codes, from, bounds + (from - first_doc), n_bounds, wanted, query, margin, scratch);
  };
  // A sample shows whether too many will be left.
  const uint32_t tried = (end - first) / kTriedShare / kPlane * kPlane;
  uint32_t* tried_bounds = bounds + (first - first_doc);
  bound_by_signs(codes, first, first + tried, query, margin, scratch, tried_bounds);
  hide_dead(vectors.dead, first, first + tried, tried_bounds);
  const uint32_t reached_there = reached_by(first, tried, std::max<size_t>(1, k / kTriedShare));
  if (kernels.select_above(tried_bounds, tried, reached_there - 1, positions) > tried / kMostTried)
    return false;
  bound_by_signs(codes, first + tried, end, query, margin, scratch, tried_bounds + tried);
  // Documents without a plane are compared by their codes.
  bound_by_codes(codes, first_doc, first, query, margin, scratch, bounds);
  bound_by_codes(codes, end, n_docs, query, margin, scratch, bounds + (end - first_doc));
  hide_dead(vectors.dead, first_doc, n_docs, bounds);
  std::fill(bounds + n, bounds + padded, kNothing);
  const uint32_t reached = reached_by(first_doc, padded, k);
  const size_t n_sifted = kernels.select_above(bounds, padded, reached - 1, positions);
  if (n_sifted > n / kMostSifted) return false;
  scratch.sifted.resize(n_sifted);
  for (size_t i = 0; i < n_sifted; ++i) scratch.sifted[i] = static_cast<uint16_t>(first_doc + positions[i]);
  return true;
}

}  // namespace

size_t scan_codes(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                  float margin, CodeScanScratch& scratch, base::TopK& best) {
  const Column& column = *vectors.column;
  const Codes& codes = *column.codes();
  const uint32_t n_docs = std::min({vectors.n_docs, column.size(), codes.size()});
  if (first_doc >= n_docs) return 0;
  const uint32_t n = n_docs - first_doc;
  make_room(scratch.bounds, (size_t{n} + 15) / 16 * 16);
  if (codes.signs() && sift(vectors, codes, first_doc, n_docs, query, margin, scratch, best))
    return gather_codes(vectors, chunk, scratch.sifted, query, margin, scratch, best);
  LikelyDocuments documents(vectors, first_doc, n, best, scratch);
  LikelyDocuments* const likely = documents.wanted() ? &documents : nullptr;
  bound_by_codes(codes, first_doc, n_docs, query, margin, scratch, scratch.bounds.data(), likely);
  hide_dead(vectors.dead, first_doc, n_docs, scratch.bounds.data());
  return look_at_originals(column, chunk, n, likely, query, scratch, best,
                           [&](uint32_t position) { return first_doc + position; });
}

size_t gather_codes(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                    const PreparedQuery& query, float margin, CodeScanScratch& scratch, base::TopK& best) {
  const Column& column = *vectors.column;
  const Codes& codes = *column.codes();
  const uint32_t n_docs = std::min({vectors.n_docs, column.size(), codes.size()});
  while (!offsets.empty() && offsets.back() >= n_docs) offsets = offsets.first(offsets.size() - 1);
  if (offsets.empty()) return 0;
  make_room(scratch.bounds, (offsets.size() + 15) / 16 * 16);
  bound_picked(
      codes, offsets.size(), [&](size_t i) { return uint32_t{offsets[i]}; }, query, margin,
      scratch.bounds.data());
  return look_at_originals(column, chunk, offsets.size(), nullptr, query, scratch, best,
                           [&](uint32_t position) { return uint32_t{offsets[position]}; });
}

size_t scan_passages(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                     const PreparedQuery& query, CodeScanScratch& scratch, base::TopK& best) {
  const std::span<const PassageEntry> entries = passages.entries(docs.n_docs);
  scratch.positions.clear();
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (!docs.dead || !docs.dead->test(entries[i].doc)) scratch.positions.push_back(i);
  }
  const size_t n = scratch.positions.size();
  const size_t n_rows = score_entries(passages, entries, scratch.positions.data(), n, query, scratch);
  best.push_all(n, [&](size_t i) {
    return base::candidate_key(scratch.scores[i], (chunk << 16) | scratch.positions[i]);
  });
  return n_rows;
}

size_t scan_passage_codes(const Passages& passages, const ChunkDocuments& docs, uint32_t chunk,
                          const PreparedQuery& query, float margin, CodeScanScratch& scratch,
                          base::TopK& best) {
  const Codes& codes = *passages.rows().codes();
  const std::span<const PassageEntry> entries = passages.entries(docs.n_docs);
  if (entries.empty()) return 0;
  const uint32_t n_rows = entries.back().first + entries.back().n;
  const size_t padded = (size_t{n_rows} + 15) / 16 * 16;
  make_room(scratch.bounds, padded);
  bound_by_codes(codes, 0, n_rows, query, margin, scratch, scratch.bounds.data());
  // A document's bound is the greatest of its passages' bounds; it is written at or before the passages that
  // it is read from.
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool hidden = docs.dead && docs.dead->test(entries[i].doc);
    const auto first = scratch.bounds.begin() + static_cast<ptrdiff_t>(entries[i].first);
    scratch.bounds[i] = hidden ? kNothing : *std::max_element(first, first + entries[i].n);
  }
  size_t n_scored = 0;
  (void)look_at(chunk, entries.size(), nullptr, scratch, best, [&](uint32_t* positions, size_t n) {
    n_scored += score_entries(passages, entries, positions, n, query, scratch);
  });
  return n_scored;
}

}  // namespace scrubjay::vector
