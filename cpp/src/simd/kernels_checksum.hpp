// Checksum kernel; included by kernels_impl.hpp, in its unnamed namespace and under its rules.

void checksum(const void* bytes, size_t n_blocks, uint32_t* lanes) {
  constexpr size_t kVectors = kChecksumBytes / sizeof(U32x16);
  const char* at = static_cast<const char*>(bytes);
  U32x16 sums[kVectors];
  for (size_t i = 0; i < kVectors; ++i) sums[i] = load<U32x16>(lanes + 16 * i);
  const auto factor = all<U32x16>(0x9e3779b1u);
  for (size_t block = 0; block < n_blocks; ++block, at += kChecksumBytes) {
    for (size_t i = 0; i < kVectors; ++i) {
      // Each step maps different words, and different sums, to different sums: every change of a single word
      // is detected.
      const U32x16 mixed = (sums[i] ^ load<U32x16>(at + i * sizeof(U32x16))) * factor;
      sums[i] = mixed ^ (mixed >> 15);
    }
  }
  for (size_t i = 0; i < kVectors; ++i) store(lanes + 16 * i, sums[i]);
}
