// Kernels over ranked bitmaps (lexical/ranked_bitmap.hpp); included by kernels_impl.hpp inside its unnamed
// namespace, where its rules hold.

size_t complete_ranked(const uint64_t* words, uint32_t n_words, const uint16_t* payloads, float weight,
                       uint32_t count, const float* norms, uint32_t rest, uint32_t threshold,
                       uint32_t* positions, uint32_t* scores, size_t n_candidates) {
  size_t n_kept = 0;
  for (size_t begin = 0; begin < n_candidates; begin += 16) {
    const size_t n = n_candidates - begin < 16 ? n_candidates - begin : 16;
    float frequencies[16], lengths[16];
    uint32_t held[16], impacts[16];
    for (size_t lane = n; lane < 16; ++lane) frequencies[lane] = lengths[lane] = 1.0f;
    for (size_t lane = 0; lane < n; ++lane) {
      const uint32_t wanted = positions[begin + lane], at = wanted / kRankedDocs, bit = wanted % kRankedDocs;
      const uint64_t word = at < n_words ? __atomic_load_n(words + at, __ATOMIC_RELAXED) : 0;
      held[lane] = 0u - static_cast<uint32_t>((word >> bit) & 1u);
      // Where the document is not held, the word may be newer than the list at hand.
      const auto rank = static_cast<uint32_t>(word >> kRankedDocs) +
                        static_cast<uint32_t>(n_bits_of(word & ((uint64_t{1} << bit) - 1)));
      const uint32_t payload = payloads[rank & held[lane]];
      frequencies[lane] = static_cast<float>(static_cast<int>(payload >> 11));
      lengths[lane] = norms[payload & 0x7ffu];
    }
    store(impacts, contributions(weight, load<F32x16>(frequencies), load<F32x16>(lengths)));
    for (size_t lane = 0; lane < n; ++lane) {
      const uint32_t score = scores[begin + lane] + (impacts[lane] & held[lane]) * count;
      positions[n_kept] = positions[begin + lane];
      scores[n_kept] = score;
      n_kept += score + rest > threshold ? 1 : 0;
    }
  }
  return n_kept;
}
