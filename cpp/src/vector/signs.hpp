// Signs: one bit an element, for the first look of a scan of many vectors.
//
// The sign of a rotated element is the uppermost bit of its code (codes.hpp), and signs alone estimate a similarity in
// the same way: <H S q, s> / <h, s>, where s is 1 or -1 an element. They err six times as far as codes, the less the
// more elements there are. But they are a quarter of the bytes, and those of many documents are compared at once, so
// a scan looks at them first and at the codes of those only that can still be among the best.
//
// The signs of 32 documents lie together in a plane, four elements of all of them in 16 bytes (document i in the lower
// nibble of byte i, document 16 + i in the upper one), so that one shuffle looks up the sums of four elements of a
// query for sixteen documents (Andre, Kermarrec and Le Scouarnec 2015). Everything is made from the codes, plane by
// plane, once a column is long enough, and does not change while a reader knows of the plane's documents. What has no
// plane yet is scanned by its codes.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/growing.hpp"
#include "vector/code_scale.hpp"

namespace scrubjay::vector {

// Of fewer elements too many documents could be among the best.
inline constexpr uint32_t kLeastSignedBlocks = 4;
// A column of so many documents has planes; a scan of so many for each document wanted looks at them.
inline constexpr uint32_t kSignedDocs = 2048;
inline constexpr uint64_t kSiftedForEach = 256;

// Whether a scan of so many documents for the k nearest looks at the signs first.
[[nodiscard]] constexpr bool is_worth_sifting(uint64_t n_docs, uint64_t k) noexcept {
  return n_docs >= kSignedDocs && n_docs >= kSiftedForEach * k;
}

struct CodeQuery;

// A query in fewer steps than that of codes, and the sums of each four of its elements.
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
  // What they are made from.
  struct Source {
    const base::RowBlocks& codes;
    const float* factors;
    const CodeError* errors;
  };

  explicit Signs(uint32_t n_blocks) noexcept : n_blocks_(n_blocks), planes_(size_t{16} * n_blocks) {}

  // The writer: there are codes of n_docs documents, those from `changed` on are new. A few planes at a time, so that
  // no single write makes all of them.
  void follow(const Source& source, uint32_t changed, uint32_t n_docs);

  // Readers: documents below this have planes.
  [[nodiscard]] uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // Of the 32 documents from `doc` on, behind it those of the next up to the end of a block of 1,024. Nothing where
  // none of them has a code.
  [[nodiscard]] const uint8_t* plane(uint32_t doc) const noexcept {
    return reinterpret_cast<const uint8_t*>(planes_.row(doc));
  }
  // Of similarities by signs, as Codes has them of those by codes; the biases of the codes serve both.
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
