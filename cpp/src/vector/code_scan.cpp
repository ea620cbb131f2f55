#include "vector/code_scan.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/growing.hpp"
#include "simd/kernels.hpp"
#include "vector/rescoring.hpp"

namespace scrubjay::vector {
namespace {

constexpr uint32_t kWord = 64;  // documents of one word of a bitmap

[[nodiscard]] uint32_t halved(uint32_t sortable) noexcept { return sortable >> 1; }

// The bound of what cannot be found: no vector, dead, hidden.
const uint32_t kNothing = halved(base::sortable_float(-std::numeric_limits<float>::infinity()));

void bound_all(const ChunkVectors& vectors, const Codes& codes, uint32_t first, uint32_t n_docs,
               const PreparedQuery& query, float margin, CodeScanScratch& scratch) {
  const simd::Kernels& kernels = simd::kernels();
  const CodeQuery& code = query.code;
  const float* factors = codes.factors();
  const float* biases = codes.biases();
  const CodeError* errors = codes.errors();
  constexpr uint32_t kRows = base::RowBlocks::kRowsPerBlock;
  for (uint32_t next = first; next < n_docs;) {
    uint32_t begin = next, end = std::min(n_docs, (next / kRows + 1) * kRows);
    // A block reaches only as far as codes were stored in it, and is not there if none was.
    const auto place = [&](uint32_t doc) { return scratch.bounds.data() + (doc - first); };
    while (begin < end && !errors[begin].has_code()) ++begin;
    std::fill(place(next), place(begin), kNothing);
    next = end;
    while (end > begin && !errors[end - 1].has_code()) --end;
    std::fill(place(end), place(next), kNothing);
    if (begin == end) continue;
    int32_t* dots = scratch.dots.data();
    kernels.dot_codes(reinterpret_cast<const uint8_t*>(codes.rows().row(begin)), end - begin,
                      codes.n_blocks(), code.elements.data(), dots);
    kernels.bound_codes(dots, factors + begin, biases ? biases + begin : nullptr, &errors[begin].bits,
                        end - begin, code.offset, code.scale, margin * code.length, code.shift, place(begin));
  }
  if (!vectors.dead) return;
  const uint32_t n = (n_docs - first + 15) / 16 * 16;
  if (first % 16 == 0 && vectors.dead->n_words() * kWord >= first + n) {  // a filter may hide most of them
    kernels.hide(scratch.bounds.data(), n, vectors.dead->words(), first, kNothing);
    return;
  }
  for (uint32_t word = first / kWord; word * kWord < n_docs; ++word) {
    for (uint64_t dead = vectors.dead->word(word); dead != 0; dead &= dead - 1) {
      const uint32_t doc = word * kWord + static_cast<uint32_t>(std::countr_zero(dead));
      if (doc >= first && doc < n_docs) scratch.bounds[doc - first] = kNothing;
    }
  }
}

// A bound that k documents reach, and a third more: the k-th greatest of the maxima of about 2k groups. With so many
// originals the first threshold is nearly the last one; with more groups there are fewer, and more behind them.
[[nodiscard]] uint32_t seed_bound(size_t n, size_t k, CodeScanScratch& scratch) {
  const size_t group = std::max<size_t>(1, n / (2 * k));
  scratch.maxima.resize(n + 16);
  const size_t n_groups =
      simd::kernels().group_maxima(scratch.bounds.data(), n, group, scratch.maxima.data());
  return std::max(simd::kernels().kth_greatest(scratch.maxima.data(), n_groups, k, kNothing), kNothing + 1);
}

// The bounds are there: scores what can be among the best. score(positions, n_positions) puts documents in the place
// of positions in the bounds, and their similarities into scratch.scores.
template <class Score>
size_t look_at(uint32_t chunk, size_t n, CodeScanScratch& scratch, base::TopK& best, Score&& score) {
  const size_t padded = (n + 15) / 16 * 16;
  std::fill(scratch.bounds.begin() + static_cast<ptrdiff_t>(n), scratch.bounds.end(), kNothing);
  scratch.positions.resize(padded + 16);  // what a kernel may write beyond
  const auto offer = [&](const uint32_t* docs, size_t n_scored) {
    best.push_all(n_scored,
                  [&](size_t i) { return base::candidate_key(scratch.scores[i], (chunk << 16) | docs[i]); });
  };
  const simd::Kernels& kernels = simd::kernels();
  uint32_t* positions = scratch.positions.data();
  size_t n_scored = 0;
  uint32_t scored_from = 0xffffffffu;  // bounds from here on are done with
  if (best.threshold() == 0) {
    scored_from = seed_bound(padded, best.k(), scratch);
    n_scored = kernels.select_above(scratch.bounds.data(), padded, scored_from - 1, positions);
    score(positions, n_scored);
    // Tighter than the threshold of many candidates, which goes by bins; and most need not be offered.
    if (n_scored >= best.k()) {
      scratch.maxima.resize(std::max(scratch.maxima.size(), n_scored));
      for (size_t i = 0; i < n_scored; ++i) scratch.maxima[i] = halved(scratch.scores[i]);
      best.raise_threshold(2 * kernels.kth_greatest(scratch.maxima.data(), n_scored, best.k(), 0));
    }
    offer(positions, n_scored);
  }
  const uint32_t reached = std::max(halved(base::key_score(best.threshold())), kNothing + 1);
  if (reached >= scored_from) return n_scored;
  size_t n_reached = kernels.select_above(scratch.bounds.data(), padded, reached - 1, positions);
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

// The same where a document is a row of a column. `doc_of` a position in the bounds.
template <class DocOf>
size_t look_at_originals(const Column& column, uint32_t chunk, size_t n, const PreparedQuery& query,
                         CodeScanScratch& scratch, base::TopK& best, DocOf&& doc_of) {
  return look_at(chunk, n, scratch, best, [&](uint32_t* docs, size_t n_scored) {
    for (size_t i = 0; i < n_scored; ++i) docs[i] = doc_of(docs[i]);
    scratch.scores.resize(n_scored);
    score_documents(column, docs, n_scored, query, scratch.scores.data());
  });
}

// Puts documents in the place of the entries at some positions, and the similarities of their nearest passages
// into scratch.scores. Returns how many passages that were.
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

}  // namespace

size_t scan_codes(const ChunkVectors& vectors, uint32_t chunk, uint32_t first_doc, const PreparedQuery& query,
                  float margin, CodeScanScratch& scratch, base::TopK& best) {
  const Column& column = *vectors.column;
  const Codes& codes = *column.codes();
  const uint32_t n_docs = std::min({vectors.n_docs, column.size(), codes.size()});
  if (first_doc >= n_docs) return 0;
  const uint32_t n = n_docs - first_doc;
  scratch.dots.resize(base::RowBlocks::kRowsPerBlock);
  scratch.bounds.resize((size_t{n} + 15) / 16 * 16);
  bound_all(vectors, codes, first_doc, n_docs, query, margin, scratch);
  return look_at_originals(column, chunk, n, query, scratch, best,
                           [&](uint32_t position) { return first_doc + position; });
}

size_t gather_codes(const ChunkVectors& vectors, uint32_t chunk, std::span<const uint16_t> offsets,
                    const PreparedQuery& query, float margin, CodeScanScratch& scratch, base::TopK& best) {
  // Compared sixteen at a time, while those further on are on their way: not many at once, or they wait for
  // each other and nothing is compared meanwhile.
  constexpr size_t kAtOnce = 16, kAhead = 48, kRing = 64;
  static_assert(kAhead + kAtOnce <= kRing && kRing % kAtOnce == 0);
  const Column& column = *vectors.column;
  const Codes& codes = *column.codes();
  const uint32_t n_docs = std::min({vectors.n_docs, column.size(), codes.size()});
  while (!offsets.empty() && offsets.back() >= n_docs) offsets = offsets.first(offsets.size() - 1);
  if (offsets.empty()) return 0;
  scratch.bounds.resize((offsets.size() + 15) / 16 * 16);
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
    for (end = std::min(end, offsets.size()); n_announced < end; ++n_announced) {
      const uint32_t offset = offsets[n_announced];
      const uint8_t* row =
          all_errors[offset].has_code() ? reinterpret_cast<const uint8_t*>(all_rows.row(offset)) : kNoCode;
      for (size_t byte = 0; byte < row_bytes; byte += base::kCacheLineBytes) __builtin_prefetch(row + byte);
      rows[n_announced % kRing] = row;
    }
  };
  announce(kAhead);
  for (size_t begin = 0; begin < offsets.size(); begin += kAtOnce) {
    const size_t n = std::min(kAtOnce, offsets.size() - begin);
    announce(begin + kAtOnce + kAhead);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t offset = offsets[begin + i];
      factors[i] = all_factors[offset];
      if (all_biases) biases[i] = all_biases[offset];
      errors[i] = all_errors[offset];
    }
    kernels.dot_picked_codes(rows + begin % kRing, n, codes.n_blocks(), code.elements.data(), dots);
    kernels.bound_codes(dots, factors, all_biases ? biases : nullptr, &errors[0].bits, n, code.offset,
                        code.scale, margin * code.length, code.shift, scratch.bounds.data() + begin);
  }
  return look_at_originals(column, chunk, offsets.size(), query, scratch, best,
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
  scratch.dots.resize(base::RowBlocks::kRowsPerBlock);
  scratch.bounds.resize(padded);
  bound_all({n_rows, nullptr, &passages.rows()}, codes, 0, n_rows, query, margin, scratch);
  // A document's bound is the greatest of its passages': never behind the passage that it is read from.
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool hidden = docs.dead && docs.dead->test(entries[i].doc);
    const auto first = scratch.bounds.begin() + static_cast<ptrdiff_t>(entries[i].first);
    scratch.bounds[i] = hidden ? kNothing : *std::max_element(first, first + entries[i].n);
  }
  scratch.bounds.resize((entries.size() + 15) / 16 * 16);
  size_t n_scored = 0;
  (void)look_at(chunk, entries.size(), scratch, best, [&](uint32_t* positions, size_t n) {
    n_scored += score_entries(passages, entries, positions, n, query, scratch);
  });
  return n_scored;
}

}  // namespace scrubjay::vector
