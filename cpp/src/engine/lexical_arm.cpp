#include "engine/lexical_arm.hpp"

#include <algorithm>
#include <bit>

#include "lexical/gather.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::engine {

void LexicalArm::rank(const lexical::Bm25Parameters& bm25, size_t candidates) {
  prepare_weights(bm25);
  if (terms_.empty()) return;
  s_.lexical_best.reset(candidates, 0, s_.weighting.greatest_score());
  s_.pruned.run(query(), s_.lexical_best);
  keys_ = s_.lexical_best.finish(simd::kernels().count_greater);
  s_.lexical_docs.resize(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) s_.lexical_docs[i] = base::key_doc(keys_[i]);
}

void LexicalArm::prepare_weights(const lexical::Bm25Parameters& bm25) {
  const size_t n_terms = terms_.size();
  lexical::Statistics statistics;
  uint32_t max_length_code = 0;
  s_.dfs.assign(n_terms, 0);
  s_.counts.resize(n_terms);
  s_.chunk_postings.clear();
  for (size_t t = 0; t < n_terms; ++t) s_.counts[t] = terms_[t].count;
  for (size_t c = 0; c < s_.chunks.size(); ++c) {
    const ChunkSnapshot& chunk = s_.chunks[c];
    const lexical::TermPostings* postings = s_.postings.data() + c * n_terms;
    statistics.n_docs += chunk.n_live;
    statistics.total_length += chunk.total_length;
    max_length_code = std::max(max_length_code, chunk.chunk->max_length_code());
    for (size_t t = 0; t < n_terms; ++t) s_.dfs[t] += postings[t].n - postings[t].n_dead;
    s_.chunk_postings.push_back({chunk.n_docs, chunk.dead, postings});
    if (s_.filtered) choose_way(c);
  }
  s_.weighting.prepare(bm25, statistics, s_.dfs, s_.counts, max_length_code, s_.worths);
}

// Chooses between scoring match by match of the filter, if there are few matches, and reading all postings.
void LexicalArm::choose_way(size_t c) {
  lexical::ChunkPostings& chunk = s_.chunk_postings.back();
  chunk.filtered = true;
  uint64_t n_postings = 0, n_lists = 0;
  for (size_t t = 0; t < terms_.size(); ++t) {
    n_postings += chunk.terms[t].n;
    n_lists += chunk.terms[t].n != 0 ? 1 : 0;
  }
  if (!lexical::gathering_pays(s_.admitted[c].n, n_lists, n_postings, chunk.n_docs)) return;
  chunk.gathered = gathered_ = true;
  chunk.among = s_.admitted_in(c);
}

double LexicalArm::score(uint32_t chunk, uint32_t offset) const {
  const uint32_t score = lexical::score_document(query(), chunk, offset);
  return score == 0 ? 0.0 : s_.weighting.score(score);
}

void LexicalArm::scores(std::span<const uint32_t> docs, std::vector<double>& out) const {
  constexpr size_t kBeyond = 16;  // that a kernel may write
  s_.term_offsets.resize(docs.size() + kBeyond);
  s_.term_bits.assign(docs.size() + kBeyond, 0);
  for (size_t i = 0; i < docs.size(); ++i) s_.term_offsets[i] = docs[i] & 0xffffu;
  for (size_t first = 0, end = 0; first < docs.size(); first = end) {
    const uint32_t chunk = docs[first] >> 16;
    while (end < docs.size() && docs[end] >> 16 == chunk) ++end;
    // Entries beyond this chunk's documents that a kernel overwrote are restored.
    s_.pruned.add_scores(query(), chunk, std::span(s_.term_offsets).subspan(first, end - first),
                         s_.term_bits.data() + first);
    for (size_t i = end; i < std::min(end + kBeyond, docs.size()); ++i) {
      s_.term_offsets[i] = docs[i] & 0xffffu;
      s_.term_bits[i] = 0;
    }
  }
  out.resize(docs.size());
  for (size_t i = 0; i < docs.size(); ++i) out[i] = s_.weighting.score(s_.term_bits[i]);
}

namespace {

// Finds offsets among some documents of a chunk, for lists that are scanned as a whole.
class Places {
 public:
  Places(std::span<const uint32_t> offsets, std::vector<uint32_t>& table) : table_(table) {
    const size_t n_slots = std::bit_ceil(8 * offsets.size() + 1);  // most lookups fail
    shift_ = 32 - static_cast<unsigned>(std::countr_zero(n_slots));
    last_ = n_slots - 1;
    table_.assign(n_slots, kFree);
    for (uint32_t place = 0; place < offsets.size(); ++place) {
      size_t slot = slot_of(offsets[place]);
      while (table_[slot] != kFree) slot = (slot + 1) & last_;
      table_[slot] = (offsets[place] << 16) | place;
    }
  }
  // Calls visit(index) if the offset is one of them.
  template <class Visit>
  void find(uint32_t offset, Visit&& visit) const {
    for (size_t slot = slot_of(offset); table_[slot] != kFree; slot = (slot + 1) & last_)
      if (table_[slot] >> 16 == offset) return visit(table_[slot] & 0xffffu);
  }

 private:
  static constexpr uint32_t kFree = 0xffffffffu;
  [[nodiscard]] size_t slot_of(uint32_t offset) const noexcept { return (offset * 0x9e3779b1u) >> shift_; }

  std::vector<uint32_t>& table_;
  unsigned shift_;
  size_t last_;
};

}  // namespace

void LexicalArm::find_terms(uint32_t chunk, uint32_t first_term, std::span<uint32_t> offsets,
                            uint32_t* holds) const {
  constexpr size_t kWholeLists = 6;     // postings whose scan takes as long as one bisection
  constexpr size_t kMostPlaces = 4096;  // beyond, the table would leave the nearest cache
  const size_t end = std::min<size_t>(terms_.size(), first_term + size_t{kTermsAtOnce});
  const size_t n_placed = offsets.size() <= kMostPlaces ? offsets.size() : 0;
  const Places places(offsets.first(n_placed), s_.place_of_offset);
  for (size_t t = first_term; t < end; ++t) {
    const lexical::TermPostings& postings = s_.chunk_postings[chunk].terms[t];
    const uint32_t bit = 1u << (t - first_term);
    if (!postings.ranked() && postings.n <= kWholeLists * n_placed) {
      for (uint32_t i = 0; i < postings.n; ++i)
        places.find(postings.offsets()[i], [&](uint32_t place) { holds[place] |= bit; });
    } else {
      // The kernel that completes scores looks a list up for many documents at once; with weight zero and a
      // count of 2^t a contribution is bit t, and no document falls below a threshold of zero.
      (void)lexical::complete_term(simd::kernels(), postings, 0.0f, bit, s_.weighting.norms(), 1, 0,
                                   offsets.data(), holds, offsets.size());
    }
  }
}

bool LexicalArm::holds(uint32_t chunk, uint32_t offset, uint32_t term) const {
  const lexical::TermPostings& postings = s_.chunk_postings[chunk].terms[term];
  if (const lexical::RankedBitmap* ranked = postings.ranked()) return ranked->holds(offset);
  uint32_t position = 0;
  return lexical::find_document(postings, offset, position);
}

}  // namespace scrubjay::engine
