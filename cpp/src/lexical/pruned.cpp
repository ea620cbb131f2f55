#include "lexical/pruned.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "base/growing.hpp"
#include "lexical/gather.hpp"
#include "lexical/posting.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::lexical {
namespace {

constexpr uint32_t kSparse = 12;  // fewer postings than a 12th of the window: visit them instead of all sums
constexpr double kDense = 0.5;    // postings per document above which smaller windows are faster

// The cost of looking up a non-essential term, in postings accumulated. Measured: 10 to 15 ns against 0.5 ns.
constexpr uint64_t kProbeCost = 16;
constexpr uint64_t kRankedProbeCost = 4;  // with a ranked bitmap

constexpr float kUsual = 0.6f;  // a typical contribution, as a fraction of the term's bound

// The fraction of documents whose sum exceeds `limit`: twice the normal distribution's tail, since real sums
// have heavier tails.
[[nodiscard]] float share_above(float limit, float mean, float variance) noexcept {
  static constexpr float kTail[] = {1.0f,  .80f,  .62f,   .45f,   .32f,   .21f,    .13f,    .080f,   .046f,
                                    .024f, .012f, .0060f, .0027f, .0012f, .00047f, .00018f, .000064f};
  const float distance = limit - mean;
  if (distance <= 0.0f) return 1.0f;
  const float quarters = 4.0f * distance / std::sqrt(variance + 1.0f);
  return kTail[quarters < 16.0f ? static_cast<size_t>(quarters) : 16];
}

// The first position >= from whose offset is >= wanted: doubling steps, then a branchless bisection.
[[nodiscard]] uint32_t gallop(const uint16_t* offsets, uint32_t from, uint32_t n, uint32_t wanted) noexcept {
  if (from >= n || offsets[from] >= wanted) return from;
  uint32_t low = from, step = 4;  // offsets[low] < wanted
  while (low + step < n && offsets[low + step] < wanted) {
    low += step;
    step *= 2;
  }
  uint32_t left = std::min(step, n - low);
  while (left > 1) {
    const uint32_t half = left / 2;
    low += offsets[low + half] < wanted ? half : 0;
    left -= half;
  }
  return low + 1;
}

// The same for a list whose documents are spread over [begin, n_docs): starts at the position for an even
// distribution, which in a long list saves most of the steps and their cache misses.
[[nodiscard]] uint32_t find_boundary(const uint16_t* offsets, uint32_t from, uint32_t n, uint32_t begin,
                                     uint32_t wanted, uint32_t n_docs) noexcept {
  if (n - from < 64 || wanted >= n_docs || begin >= wanted) return gallop(offsets, from, n, wanted);
  const auto guess = from + static_cast<uint32_t>(uint64_t{n - from} * (wanted - begin) / (n_docs - begin));
  if (offsets[guess] < wanted) return gallop(offsets, guess, n, wanted);
  uint32_t high = guess, step = 8;  // offsets[high] >= wanted
  while (high - from > step && offsets[high - step] >= wanted) {
    high -= step;
    step *= 2;
  }
  const uint32_t low = high - from > step ? high - step : from;
  return static_cast<uint32_t>(std::lower_bound(offsets + low, offsets + high, wanted) - offsets);
}

}  // namespace

PrunedSearch::PrunedSearch(uint32_t window, const simd::Kernels& kernels)
    : window_(window), kernels_(kernels), sums_(new uint32_t[window]()), selection_(kernels) {}

void PrunedSearch::run(const Query& query, base::TopK& best) {
  try {
    selection_.reset(best.k());
    prepare_impacts(query);
    for (uint32_t c = 0; c < query.chunks.size(); ++c) {
      if (query.chunks[c].gathered) {
        gather_chunk(query, c, kernels_, selection_);
        continue;
      }
      open_chunk(query, query.chunks[c]);
      search_chunk(query, c);
    }
    selection_.finish(best);
  } catch (...) {  // no memory: restore the sums for the next search
    std::fill_n(sums_.get(), window_, 0u);
    throw;
  }
}

void PrunedSearch::prepare_impacts(const Query& query) {
  const size_t n_terms = query.counts.size();
  tables_.clear();
  impacts_.assign(n_terms, Impacts{});
  for (size_t t = 0; t < n_terms; ++t) {
    Impacts& impacts = impacts_[t];
    for (const ChunkPostings& chunk : query.chunks) {
      const TermPostings& postings = chunk.terms[t];
      if (postings.n == 0) continue;
      impacts.max_tf = std::max(impacts.max_tf, postings.max_tf);
      impacts.shortest.add(postings.shortest);
      impacts.last_length = std::max(impacts.last_length, postings.max_length_code);
    }
    // A list's bounds may include documents beyond the snapshot; the weighting covers all documents
    // of the snapshot.
    impacts.last_length = std::min(impacts.last_length, query.weighting->max_length_code());
  }
}

void PrunedSearch::open_chunk(const Query& query, const ChunkPostings& chunk) {
  cursors_.clear();
  bound_sums_.clear();
  const float* norms = query.weighting->norms();
  for (uint32_t t = 0; t < query.counts.size(); ++t) {
    const TermPostings& postings = chunk.terms[t];
    if (postings.n == 0) continue;
    // Shorter documents and more occurrences score higher, up to the rounding of the last bits: an error of
    // at most 2 below 2^24, and in proportion to the value beyond.
    const float weight = query.weighting->weight(t);
    float greatest = 0.0f;
    for (uint32_t c = 0; c < Shortest::kClasses; ++c) {
      if (!postings.shortest.has(c)) continue;
      const uint32_t shortest =
          std::min(postings.shortest.length_code(c), query.weighting->max_length_code());
      const auto tf = static_cast<float>(c + 1 < Shortest::kClasses ? c + 1 : postings.max_tf);
      greatest = std::max(greatest, (weight * tf) / (tf + norms[shortest]));
    }
    const uint32_t most = std::max(rounded(greatest), 1u);
    cursors_.push_back({postings.offsets(), postings.payloads(), postings.ranked(), postings.n, 0, 0,
                        query.counts[t] * (most + 2 + (most >> 21)), t});
  }
  std::sort(cursors_.begin(), cursors_.end(), [](const Cursor& a, const Cursor& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.term < b.term;
  });
  uint32_t sum = 0;
  for (const Cursor& cursor : cursors_) bound_sums_.push_back(sum += cursor.bound);
  moments_.resize(cursors_.size() + 1);
  moments_.back() = {};
  for (size_t i = cursors_.size(); i-- > 0;) {
    const float usual = kUsual * static_cast<float>(cursors_[i].bound);
    const float share = static_cast<float>(cursors_[i].n) / static_cast<float>(chunk.n_docs);
    moments_[i].mean = moments_[i + 1].mean + share * usual;
    moments_[i].variance = moments_[i + 1].variance + share * (1.0f - share) * usual * usual;
  }
}

void PrunedSearch::search_chunk(const Query& query, uint32_t chunk) {
  const ChunkPostings& postings = query.chunks[chunk];
  const uint32_t n_docs = postings.n_docs;
  const size_t n_terms = cursors_.size();
  for (uint32_t begin = 0, end = 0; begin < n_docs; begin = end) {
    uint32_t threshold = selection_.threshold();
    size_t n_safe = 0;  // number of cursors that may be non-essential
    while (n_safe < n_terms && bound_sums_[n_safe] <= threshold) ++n_safe;
    if (n_safe == n_terms) return;  // no later window of the chunk can hold a better document either
    Plan plan = choose_optional(n_safe, threshold, n_docs);
    // With many postings the sums should stay in the nearest cache; with few there should be few windows.
    const uint32_t widest = plan.n_essential > kDense * n_docs              ? window_ / 4
                            : uint64_t{plan.n_essential} * kSparse > n_docs ? window_ / 2
                                                                            : window_;
    end = std::min(n_docs, begin + std::max(widest, 16u));

    uint32_t n_added = 0;
    size_t n_waiting = n_terms;  // cursors whose postings have not been added yet
    if (threshold == 0) {
      n_added = seed_early(query, postings, begin, end, n_waiting);
      threshold = selection_.threshold();
      if (threshold != 0) {
        for (n_safe = 0; n_safe < n_waiting && bound_sums_[n_safe] <= threshold;) ++n_safe;
        plan = choose_optional(n_safe, threshold, n_docs);
      }
    }
    const size_t n_optional = plan.n_optional;
    const uint32_t help = n_optional == 0 ? 0 : bound_sums_[n_optional - 1];
    for (size_t i = n_optional; i < n_waiting; ++i) {
      if (i + 1 < n_waiting) prefetch(cursors_[i + 1], begin, end, n_docs);
      n_added += accumulate(query, cursors_[i], begin, end, n_docs);
    }
    if (n_added == 0) continue;

    selection_.make_room(end - begin + 16);
    const bool sparse = n_added < (end - begin) / kSparse;
    size_t n = 0;
    bool may_hold_dead = postings.dead != nullptr;
    if (sparse) {
      n = take_candidates_sparsely(n_optional, begin, threshold - help);
    } else {
      if (postings.filtered) {  // otherwise most candidates would be hidden documents
        kernels_.hide(sums_.get(), (end - begin + 15) / 16 * 16, postings.dead->words(), begin, 0);
        may_hold_dead = false;
      }
      if (threshold == 0) seed_threshold(postings, begin, end);
      threshold = selection_.threshold();
      n = take_candidates(begin, end, threshold - help);
    }
    if (may_hold_dead) n = drop_dead(*postings.dead, n);
    if (threshold == 0) n = seed_from(n);
    if (n != 0 && n_optional != 0) {
      const uint32_t* positions = selection_.positions();
      n = complete_candidates(query, n_optional, threshold, n, sparse ? begin : positions[0],
                              sparse ? end - 1 : positions[n - 1]);
    }
    selection_.add(n, chunk << 16);
  }
}

// Chooses how many of the first n_safe terms to leave out of a window. Leaving a term out saves its postings,
// but lowers the threshold for candidates by its bound, and each candidate is then looked up in every list
// that was left out. The number of candidates is estimated as if terms occurred independently: the sum of the
// other terms' typical contributions has a mean and a variance, and the normal distribution gives the number
// of documents that exceed the lowered threshold. In addition, every posting of a term whose typical
// contribution exceeds it makes a candidate.
PrunedSearch::Plan PrunedSearch::choose_optional(size_t n_safe, uint32_t threshold, uint32_t n_docs) const {
  uint64_t n_left = 0;  // postings of the terms that are not left out
  for (const Cursor& cursor : cursors_) n_left += cursor.n;
  Plan best{0, n_left};
  uint64_t best_cost = n_left;
  uint64_t probe_cost = 0;
  uint64_t n_alone = 0;            // postings of the terms from `alone` on
  size_t alone = cursors_.size();  // the first term whose postings make candidates by themselves
  for (size_t m = 1; m <= n_safe; ++m) {
    n_left -= cursors_[m - 1].n;
    probe_cost += cursors_[m - 1].ranked ? kRankedProbeCost : kProbeCost;
    const float lowered = static_cast<float>(threshold - bound_sums_[m - 1]);
    while (alone > 0 && static_cast<float>(cursors_[alone - 1].bound) * kUsual > lowered) {
      n_alone += cursors_[--alone].n;
    }
    uint64_t n_candidates = n_left;
    if (alone > m) {
      const auto [mean, variance] = moments_[m];
      const auto exceeding =
          static_cast<uint64_t>(share_above(lowered, mean, variance) * static_cast<float>(n_docs));
      n_candidates = std::min(n_left, n_alone + exceeding);
    }
    const uint64_t cost = n_left + n_candidates * probe_cost;
    if (cost < best_cost) {
      best_cost = cost;
      best = {m, n_left};
    }
  }
  return best;
}

// Prefetches what accumulate() reads first.
void PrunedSearch::prefetch(const Cursor& cursor, uint32_t begin, uint32_t end, uint32_t n_docs) noexcept {
  const uint32_t n = cursor.n - cursor.position;
  __builtin_prefetch(cursor.offsets + cursor.position);
  __builtin_prefetch(cursor.payloads + cursor.position);
  if (end < n_docs && n >= 64)
    __builtin_prefetch(cursor.offsets + cursor.position + uint64_t{n} * (end - begin) / (n_docs - begin));
}

// Adds the cursor's postings within the window; returns their number.
uint32_t PrunedSearch::accumulate(const Query& query, Cursor& cursor, uint32_t window_begin,
                                  uint32_t window_end, uint32_t n_docs) {
  const uint32_t from =
      gallop(cursor.offsets, cursor.position, cursor.n, window_begin);  // it may have been left out before
  const uint32_t to = window_end >= n_docs
                          ? cursor.n
                          : find_boundary(cursor.offsets, from, cursor.n, window_begin, window_end, n_docs);
  cursor.begin = from;
  cursor.position = to;
  if (from == to) return 0;
  Impacts& impacts = impacts_[cursor.term];
  const float weight = query.weighting->weight(cursor.term);
  const uint32_t count = query.counts[cursor.term];
  uint32_t* sums = sums_.get() - window_begin;
  if (!impacts.table) fill_table(query, cursor, impacts);
  if (impacts.table) {
    kernels_.accumulate(cursor.offsets + from, cursor.payloads + from, to - from, impacts.table, sums);
  } else {
    kernels_.accumulate_directly(cursor.offsets + from, cursor.payloads + from, to - from, weight, count,
                                 query.weighting->norms(), sums);
  }
  return to - from;
}

// Gives the cursor's term a table if it has enough postings.
void PrunedSearch::fill_table(const Query& query, const Cursor& cursor, Impacts& impacts) {
  constexpr uint32_t kWorth = 2;  // filling an entry costs about half of what the table saves per posting
  struct Rows {
    uint32_t first_tf, last_tf, first_length;
  };
  Rows rows[Shortest::kClasses];
  uint32_t n_rows = 0, n_entries = 0;
  const uint32_t first_length = std::min(impacts.shortest.least_length_code(), impacts.last_length);
  for (uint32_t c = 0; c < Shortest::kClasses; ++c) {
    if (!impacts.shortest.has(c)) continue;
    // Whole vectors, counted from the first length of the table: none extends into the next table.
    const uint32_t skipped = std::min(impacts.shortest.length_code(c), impacts.last_length) - first_length;
    const Rows some{c + 1, c + 1 < Shortest::kClasses ? c + 1 : impacts.max_tf,
                    first_length + skipped / ImpactTables::kAtOnce * ImpactTables::kAtOnce};
    n_entries += (some.last_tf - c) * (impacts.last_length - some.first_length + ImpactTables::kAtOnce);
    rows[n_rows++] = some;
  }
  if (uint64_t{cursor.n} * kWorth <= n_entries) return;
  uint32_t* table = tables_.take(first_length, impacts.last_length);
  if (!table) return;
  for (uint32_t i = 0; i < n_rows; ++i) {
    kernels_.fill_impacts(query.weighting->weight(cursor.term), query.counts[cursor.term],
                          query.weighting->norms(), rows[i].first_tf, rows[i].last_tf, rows[i].first_length,
                          impacts.last_length, table);
  }
  impacts.table = table;
}

// Costs in instructions, as counted by callgrind: 3 for a posting that is skipped; for a lookup 40 plus 6 per
// step, or 40 by a ranked bitmap.
bool PrunedSearch::going_through_pays(const TermPostings& postings, size_t n_wanted) noexcept {
  const uint64_t n = postings.n;
  const uint64_t look_up = postings.ranked() ? 40 : 40 + 6 * static_cast<uint64_t>(std::bit_width(n));
  return n * 3 < n_wanted * look_up;
}

void PrunedSearch::add_scores(const Query& query, uint32_t chunk, std::span<uint32_t> offsets,
                              uint32_t* scores) {
  const ChunkPostings& postings = query.chunks[chunk];
  const float* norms = query.weighting->norms();
  const bool marked = postings.n_docs <= window_ && offsets.size() <= 0xffffu;
  if (marked) {
    if (!marks_) marks_.reset(new uint16_t[window_]());
    for (size_t i = 0; i < offsets.size(); ++i) marks_[offsets[i]] = static_cast<uint16_t>(i + 1);
  }
  for (size_t t = 0; t < query.counts.size(); ++t) {
    const TermPostings& list = postings.terms[t];
    if (list.n == 0) continue;
    const float weight = query.weighting->weight(t);
    if (marked && going_through_pays(list, offsets.size())) {
      add_marked(list, weight, query.counts[t], norms, scores);
    } else {
      // With a threshold of zero and `rest` = 1 no document is dropped.
      (void)complete_term(kernels_, list, weight, query.counts[t], norms, 1, 0, offsets.data(), scores,
                          offsets.size());
    }
  }
  if (!marked) return;
  for (const uint32_t offset : offsets) marks_[offset] = 0;
}

// Adds the contributions of a list to the scores of the few marked documents: four postings per branch.
void PrunedSearch::add_marked(const TermPostings& list, float weight, uint32_t count, const float* norms,
                              uint32_t* scores) const noexcept {
  const uint16_t *offsets = list.offsets(), *payloads = list.payloads(), *marks = marks_.get();
  const auto add = [&](uint32_t i) {
    const uint16_t mark = marks[offsets[i]], payload = payloads[i];
    if (mark == 0) return;
    scores[mark - 1] +=
        count * contribution(weight, payload_tf(payload), norms[payload_length_code(payload)]);
  };
  uint32_t i = 0;
  for (; i + 4 <= list.n; i += 4) {
    if ((marks[offsets[i]] | marks[offsets[i + 1]] | marks[offsets[i + 2]] | marks[offsets[i + 3]]) == 0)
      continue;
    for (uint32_t j = i; j < i + 4; ++j) add(j);
  }
  for (; i < list.n; ++i) add(i);
}

// Moves candidates among the window's documents to the selection; clears their sums.
size_t PrunedSearch::take_candidates(uint32_t begin, uint32_t end, uint32_t threshold) {
  const size_t n_sums = (end - begin + 15) / 16 * 16;
  uint32_t* positions = selection_.positions();
  const size_t n = kernels_.harvest(sums_.get(), n_sums, threshold, positions, selection_.scores());
  assert(n <= n_sums);
  for (size_t i = 0; i < n; ++i) positions[i] += begin;
  return n;
}

// The same by visiting only the postings that were added, in no order: cheaper if they are few.
size_t PrunedSearch::take_candidates_sparsely(size_t n_optional, uint32_t begin, uint32_t threshold) {
  uint32_t *positions = selection_.positions(), *scores = selection_.scores();
  size_t n = 0;
  for (size_t j = n_optional; j < cursors_.size(); ++j) {  // the first visit of a document takes its sum
    const Cursor& cursor = cursors_[j];
    n += kernels_.harvest_listed(cursor.offsets + cursor.begin, cursor.position - cursor.begin,
                                 sums_.get() - begin, threshold, positions + n, scores + n);
  }
  return n;
}

// Done before the lookups, which cost more.
size_t PrunedSearch::drop_dead(const base::Bitmap& dead, size_t n) noexcept {
  uint32_t *positions = selection_.positions(), *scores = selection_.scores();
  size_t n_kept = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t position = positions[i];
    positions[n_kept] = position;
    scores[n_kept] = scores[i];
    n_kept += dead.test(position) ? 0 : 1;
  }
  return n_kept;
}

// Adds the non-essential terms to the candidates, which are in [first, last], and drops those that can no
// longer exceed the threshold.
size_t PrunedSearch::complete_candidates(const Query& query, size_t n_optional, uint32_t threshold, size_t n,
                                         uint32_t first, uint32_t last) {
  uint32_t *positions = selection_.positions(), *scores = selection_.scores();
  for (size_t j = n_optional; j-- > 0 && n != 0;) {
    Cursor& cursor = cursors_[j];
    const uint32_t rest = j == 0 ? 0 : bound_sums_[j - 1];
    if (cursor.ranked) {
      n = kernels_.complete_ranked(cursor.ranked->read(), cursor.ranked->n_words(), cursor.payloads,
                                   query.weighting->weight(cursor.term), query.counts[cursor.term],
                                   query.weighting->norms(), rest, threshold, positions, scores, n);
      continue;
    }
    const uint32_t from = gallop(cursor.offsets, cursor.position, cursor.n, first);
    const uint32_t to = last == kMaxOffset ? cursor.n : gallop(cursor.offsets, from, cursor.n, last + 1);
    cursor.position = from;
    n = kernels_.complete(cursor.offsets + from, cursor.payloads + from, to - from,
                          query.weighting->weight(cursor.term), query.counts[cursor.term],
                          query.weighting->norms(), rest, threshold, positions, scores, n);
  }
  return n;
}

}  // namespace scrubjay::lexical
