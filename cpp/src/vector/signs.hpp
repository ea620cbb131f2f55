// Signs: one bit per element, for the first pass of a scan of many vectors.
//
// The sign of a rotated element is the highest bit of its code (codes.hpp), and signs alone give an estimate
// of the similarity in the same way: <H S q, s> / <h, s>, with s = 1 or -1 per element. Their error is six
// times that of the codes, less with more elements. But they take a quarter of the bytes, and many documents
// are compared at once, so a scan compares signs first, and codes only of documents that can still be among
// the best.
//
// The signs of 32 documents are stored together in a plane, with four elements of all of them in 16 bytes
// (document i in the lower nibble of byte i, document 16 + i in the upper one), so that one shuffle looks up
// the sums of four elements of a query for sixteen documents (Andre, Kermarrec and Le Scouarnec 2015).
// Everything is derived from the codes, plane by plane, once a column is long enough, and does not change
// while a reader knows the plane's documents. Documents without a plane are scanned by their codes.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/growing.hpp"
#include "vector/code_scale.hpp"

namespace scrubjay::vector {

// With fewer elements too many documents could be among the best.
inline constexpr uint32_t kLeastSignedBlocks = 4;
// A column with at least this many documents has planes; a scan with at least kSiftedForEach documents per
// wanted document uses them.
inline constexpr uint32_t kSignedDocs = 2048;
inline constexpr uint64_t kSiftedForEach = 256;

// Whether a scan of that many documents for the k nearest compares signs first.
[[nodiscard]] constexpr bool is_worth_sifting(uint64_t n_docs, uint64_t k) noexcept {
  return n_docs >= kSignedDocs && n_docs >= kSiftedForEach * k;
}

struct CodeQuery;

// A query with coarser quantisation than that for codes, and the sums for every four of its elements.
struct SignQuery {
  std::vector<int8_t> elements;
  std::vector<uint8_t> tables;
  int32_t offset = 0;  // the sum of the elements' magnitudes
  float scale = 0.0f;  // of an element
};
void prepare_sign_query(const CodeQuery& query, SignQuery& out);

class Signs {
 public:
  static constexpr uint32_t kPlaneDocs = 32;
  // The data from which the signs are derived.
  struct Source {
    const base::RowBlocks& codes;
    const float* factors;
    const CodeError* errors;
  };

  explicit Signs(uint32_t n_blocks) noexcept : n_blocks_(n_blocks), planes_(size_t{16} * n_blocks) {}

  // For the writer: there are codes of n_docs documents, and those from `changed` on are new. Makes a few
  // planes at a time, so that no single write makes all of them.
  void follow(const Source& source, uint32_t changed, uint32_t n_docs);

  // For readers: documents below this number have planes.
  [[nodiscard]] uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // The plane of the 32 documents from `doc` on, followed by the next planes up to the end of a block of
  // 1,024. Unspecified if none of the documents has a code.
  [[nodiscard]] const uint8_t* plane(uint32_t doc) const noexcept {
    return reinterpret_cast<const uint8_t*>(planes_.row(doc));
  }
  // For similarities by signs, like those of Codes for similarities by codes; the biases of the codes serve
  // for both.
  [[nodiscard]] const float* factors() const noexcept { return factors_.read(); }
  [[nodiscard]] const CodeError* errors() const noexcept { return errors_.read(); }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return planes_.memory_bytes() + factors_.memory_bytes() + errors_.memory_bytes();
  }

 private:
  void lay(const Source& source, uint32_t first);
  void measure(const Source& source, uint32_t doc);

  const uint32_t n_blocks_;
  base::RowBlocks planes_;
  base::GrowingArray<float> factors_;
  base::GrowingArray<CodeError> errors_;
  std::atomic<uint32_t> size_{0};
};

}  // namespace scrubjay::vector
