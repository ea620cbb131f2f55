#include <algorithm>
#include <vector>

#include "lexical/posting.hpp"
#include "lexical/search.hpp"

namespace scrubjay::lexical {

void search_exhaustively(const Query& query, base::TopK& best) {
  const float* norms = query.weighting->norms();
  std::vector<uint32_t> scores;
  for (size_t c = 0; c < query.chunks.size(); ++c) {
    const ChunkPostings& chunk = query.chunks[c];
    scores.assign(chunk.n_docs, 0);
    for (size_t t = 0; t < query.counts.size(); ++t) {
      const TermPostings& postings = chunk.terms[t];
      const float weight = query.weighting->weight(t);
      for (uint32_t i = 0; i < postings.n; ++i) {
        const uint16_t payload = postings.payloads()[i];
        scores[postings.offsets()[i]] +=
            query.counts[t] * contribution(weight, payload_tf(payload), norms[payload_length_code(payload)]);
      }
    }
    for (uint32_t offset = 0; offset < chunk.n_docs; ++offset) {
      if (scores[offset] == 0 || (chunk.dead && chunk.dead->test(offset))) continue;
      best.push(base::candidate_key(scores[offset], static_cast<uint32_t>(c << 16) | offset));
    }
  }
}

bool find_document(const TermPostings& postings, uint32_t offset, uint32_t& position) noexcept {
  const uint16_t* begin = postings.offsets();
  const uint16_t* end = begin + postings.n;
  const uint16_t* at = std::lower_bound(begin, end, static_cast<uint16_t>(offset));
  position = static_cast<uint32_t>(at - begin);
  return at != end && *at == offset;
}

uint32_t score_document(const Query& query, uint32_t chunk, uint32_t offset) {
  uint32_t score = 0;
  for (size_t t = 0; t < query.counts.size(); ++t) {
    const TermPostings& postings = query.chunks[chunk].terms[t];
    uint32_t position = 0;
    if (!find_document(postings, offset, position)) continue;
    const uint16_t payload = postings.payloads()[position];
    score += query.counts[t] * contribution(query.weighting->weight(t), payload_tf(payload),
                                            query.weighting->norms()[payload_length_code(payload)]);
  }
  return score;
}

}  // namespace scrubjay::lexical
