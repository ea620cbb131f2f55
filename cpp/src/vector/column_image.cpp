// Columns and codes in images: copied in their stored layout, with every value checked.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/interruption.hpp"
#include "vector/column.hpp"

namespace scrubjay::vector {
namespace {

template <class T>
void copy_to(base::GrowingArray<T>& array, std::string_view bytes) {
  array.reserve(bytes.size() / sizeof(T), 0);
  if (!bytes.empty()) std::memcpy(array.data(), bytes.data(), bytes.size());
}

// Copies concatenated rows to the documents that have one, a run at a time. Returns false if
// their numbers differ.
template <class Has>
[[nodiscard]] bool copy_rows(base::RowBlocks& rows, uint32_t n_docs, std::string_view bytes, Has&& has) {
  constexpr uint32_t kRows = base::RowBlocks::kRowsPerBlock;
  const size_t row_bytes = rows.row_bytes();
  for (uint32_t block = 0; block * kRows < n_docs; ++block) {
    const uint32_t end = std::min(n_docs, (block + 1) * kRows);
    base::interruption_point();
    for (uint32_t doc = block * kRows; doc < end;) {
      if (!has(doc)) {
        ++doc;
        continue;
      }
      const uint32_t first = doc;
      while (doc < end && has(doc)) ++doc;
      const size_t n_bytes = (doc - first) * row_bytes;
      if (n_bytes > bytes.size()) return false;
      (void)rows.place(end - 1, 0);  // allocates the whole first block before it is written
      std::memcpy(rows.place(first, 0), bytes.data(), n_bytes);
      bytes.remove_prefix(n_bytes);
    }
  }
  return bytes.empty();
}

// Whether every element of a stored row is at most 1 in magnitude (column.hpp), which also rules out NaN and
// infinity, and one is not zero. `Signed` has the elements' width: without the sign bit IEEE numbers are
// ordered like integers, and the baseline's vector instructions can compute maxima of signed ones.
template <class Signed>
[[nodiscard]] bool in_range(const char* row, uint32_t n, Signed magnitude_mask, Signed one) noexcept {
  Signed greatest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    Signed word;
    std::memcpy(&word, row + i * sizeof word, sizeof word);
    const auto magnitude = static_cast<Signed>(word & magnitude_mask);
    greatest = magnitude > greatest ? magnitude : greatest;
  }
  return greatest <= one && greatest != 0;
}

}  // namespace

bool stored_row_in_range(const ColumnOptions& options, const char* row) noexcept {
  return options.storage == Storage::f16
             ? in_range<int16_t>(row, options.padded_dim(), 0x7fff, 0x3c00)
             : in_range<int32_t>(row, options.padded_dim(), 0x7fffffff, 0x3f800000);
}

bool Column::scales_in_range(uint32_t n_docs) const noexcept {
  constexpr int16_t kLeast = -149, kGreatest = 127;  // powers of two that a float can represent
  bool in_range = true;
  const int16_t* exponents = exponents_.read();
  const float* values = values_.read();
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    if (exponents[doc] == RowScales::kNoVector) continue;
    in_range &= exponents[doc] >= kLeast && exponents[doc] <= kGreatest;
    if (!values) continue;
    in_range &= std::isfinite(values[doc]) && values[doc] >= 0.0f;
    in_range &= options_.metric != Metric::cosine || values[doc] > 0.0f;
  }
  return in_range;
}

bool Column::adopt(const StoredColumn& stored) {
  const uint32_t n = stored.n_docs;
  copy_to(exponents_, stored.exponents);
  copy_to(values_, stored.values);
  if (!scales_in_range(n)) return false;
  const auto has = [&](uint32_t doc) { return exponents_.data()[doc] != RowScales::kNoVector; };
  for (size_t at = 0; at < stored.rows.size(); at += rows_.row_bytes())
    if (!stored_row_in_range(options_, stored.rows.data() + at)) return false;
  if (!copy_rows(rows_, n, stored.rows, has)) return false;
  if (stored.coded) {
    auto codes = std::make_unique<Codes>(options_);
    if (!codes->adopt(n, stored.codes)) return false;
    for (uint32_t doc = 0; doc < n; ++doc)
      if (codes->errors()[doc].has_code() != has(doc)) return false;
    codes_.store(codes.release(), std::memory_order_release);
  }
  size_.store(n, std::memory_order_release);
  return true;
}

bool Codes::adopt(uint32_t n_docs, const StoredCodes& stored) {
  copy_to(factors_, stored.factors);
  copy_to(biases_, stored.biases);
  copy_to(errors_, stored.errors);
  bool in_range = true;
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    const uint16_t error = errors_.data()[doc].bits;
    in_range &= error <= 0x7f80 || error == CodeError().bits;
    in_range &= std::isfinite(factors_.data()[doc]);
  }
  for (uint32_t doc = 0; doc < stored.biases.size() / sizeof(float); ++doc)
    in_range &= std::isfinite(biases_.data()[doc]);
  if (!in_range) return false;
  const auto has = [&](uint32_t doc) { return errors_.data()[doc].has_code(); };
  if (!copy_rows(rows_, n_docs, stored.codes, has)) return false;
  while (signs_ && n_docs >= kSignedDocs && signs_->size() < n_docs / Signs::kPlaneDocs * Signs::kPlaneDocs)
    signs_->follow({rows_, factors_.data(), errors_.data()}, signs_->size(), n_docs);
  size_.store(n_docs, std::memory_order_release);
  return true;
}

}  // namespace scrubjay::vector
