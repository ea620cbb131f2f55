// The first threshold of a pruned search.
#include <algorithm>
#include <bit>

#include "lexical/pruned.hpp"

namespace scrubjay::lexical {
namespace {

// The number of postings accumulated before the first threshold: up to one for every kEarly-th document, and
// kEarlyForEach for each of the k.
constexpr uint64_t kEarly = 2, kEarlyForEach = 32;
constexpr size_t kMostSeeds = 2;  // documents scored for it, as a multiple of k

// Scores are completed if that takes at most one lookup (of four units without a ranked bitmap) for every so
// many postings that a better threshold may skip. Measured on questions of 6 to 200 words, k = 10 to 1,000:
// without the limit 200 words take four times as long at k = 1,000; with 32 instead of 8 six words take a
// tenth longer at k = 10; from 4 to 16 there is no difference.
constexpr uint64_t kWorthOfLookUp = 8, kLookUp = 4;

}  // namespace

// Adds the first window's postings of the rarest terms, as far as they are few in relation to the documents:
// usually the best documents already have the best sums. Their complete scores, by lookups if these are few,
// give a threshold with which the frequent terms need not be accumulated. Returns the number of postings
// added; n_waiting cursors remain.
uint32_t PrunedSearch::seed_early(const Query& query, const ChunkPostings& postings, uint32_t begin,
                                  uint32_t end, size_t& n_waiting) {
  const uint32_t n_docs = postings.n_docs;
  const size_t k = selection_.k();
  size_t first = cursors_.size();
  const uint64_t most = n_docs / kEarly + kEarlyForEach * k;
  for (uint64_t n = 0; first > 0; --first) {
    n += cursors_[first - 1].n;
    if (first != cursors_.size() && n > most) break;
  }
  if (first == 0) return 0;
  n_waiting = first;
  uint32_t n_added = 0;
  for (size_t i = first; i < cursors_.size(); ++i)
    n_added += accumulate(query, cursors_[i], begin, end, n_docs);
  if (n_added < k) return n_added;

  const size_t n_sums = (end - begin + 15) / 16 * 16;
  // If many documents are hidden, clear their sums. Deleted documents are usually few: take somewhat more
  // than k and skip them.
  if (postings.filtered) kernels_.hide(sums_.get(), n_sums, postings.dead->words(), begin, 0);
  const base::Bitmap* dead = postings.filtered ? nullptr : postings.dead;
  size_t n = take_best_sums(dead ? k + k / 8 + 2 : k, begin, n_sums, dead);
  if (n < k && dead) {
    clear_dead(*dead, begin, end);
    n = take_best_sums(k, begin, n_sums, nullptr);
  }
  if (n < k) return n_added;
  uint64_t n_postings = 0, look_ups = 0;
  for (size_t j = 0; j < first; ++j) {
    n_postings += cursors_[j].n;
    look_ups += cursors_[j].ranked ? 1 : kLookUp;
  }
  // For a long question or a large k, lookups would cost more than the better threshold saves: sums of some
  // terms give a threshold, too.
  if (n * look_ups * kWorthOfLookUp <= n_postings) {
    const uint32_t* positions = selection_.positions();
    for (size_t j = 0; j < first; ++j) cursors_[j].begin = cursors_[j].position;
    n = complete_candidates(query, first, 0, n, positions[0], positions[n - 1]);
    for (size_t j = 0; j < first; ++j) cursors_[j].position = cursors_[j].begin;
  }
  selection_.raise_threshold(kernels_.kth_greatest(selection_.scores(), n, k, 0));
  return n_added;
}

// Makes candidates of about `n_wanted` documents of the window, those with the best sums, which are kept, and
// of no deleted document. Returns their number.
size_t PrunedSearch::take_best_sums(size_t n_wanted, uint32_t begin, size_t n_sums,
                                    const base::Bitmap* dead) {
  selection_.make_room(n_sums + 16);
  uint32_t *positions = selection_.positions(), *scores = selection_.scores();
  const size_t n_groups =
      kernels_.group_maxima(sums_.get(), n_sums, std::max<size_t>(1, n_sums / (4 * n_wanted)), scores);
  const uint32_t least = n_groups < n_wanted ? 0 : kernels_.kth_greatest(scores, n_groups, n_wanted, 0);
  if (least == 0) return 0;
  const size_t n =
      std::min(kernels_.select_above(sums_.get(), n_sums, least - 1, positions), kMostSeeds * n_wanted);
  for (size_t i = 0; i < n; ++i) {
    scores[i] = sums_[positions[i]];
    positions[i] += begin;
  }
  return dead ? drop_dead(*dead, n) : n;
}

// Before the first candidates are taken there is no threshold, and every match would be a candidate. The k-th
// best of the maxima of disjoint groups of documents is a score that k documents reach: a threshold for one
// cheap pass over the sums.
void PrunedSearch::seed_threshold(const ChunkPostings& postings, uint32_t begin, uint32_t end) {
  if (postings.dead && !postings.filtered) clear_dead(*postings.dead, begin, end);
  const size_t n = (end - begin + 15) / 16 * 16, k = selection_.k();
  const size_t group = std::max<size_t>(1, n / (4 * k));
  uint32_t* maxima = selection_.scores();  // unused until candidates are taken
  const size_t n_groups = kernels_.group_maxima(sums_.get(), n, group, maxima);
  if (n_groups >= k) selection_.raise_threshold(kernels_.kth_greatest(maxima, n_groups, k, 0));
}

// The same for a few candidates that have been taken already; drops those that do not reach it.
size_t PrunedSearch::seed_from(size_t n) {
  if (n < selection_.k()) return n;
  selection_.raise_threshold(kernels_.kth_greatest(selection_.scores(), n, selection_.k(), 0));
  return kernels_.keep_above(selection_.positions(), selection_.scores(), n, selection_.threshold());
}

// Clears the sums of a window's deleted documents.
void PrunedSearch::clear_dead(const base::Bitmap& dead, uint32_t begin, uint32_t end) noexcept {
  for (uint32_t word = begin / 64; word < dead.n_words() && word * 64 < end; ++word) {
    for (uint64_t bits = dead.word(word); bits != 0; bits &= bits - 1) {
      const uint32_t offset = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      if (offset >= begin && offset < end) sums_[offset - begin] = 0;
    }
  }
}

}  // namespace scrubjay::lexical
