// Columns and codes of images: places for their bytes, which have the layout in memory, and checks of values.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/interruption.hpp"
#include "vector/column.hpp"

namespace scrubjay::vector {
namespace {

template <class T>
void place_array(base::GrowingArray<T>& array, uint32_t n, std::vector<base::Place>& out) {
  array.reserve(n, 0);
  out.push_back({reinterpret_cast<char*>(array.data()), n * sizeof(T)});
}

[[nodiscard]] bool has_row(const int16_t* exponents, uint32_t doc) noexcept {
  return exponents[doc] != RowScales::kNoVector;
}

// The places of concatenated rows of the documents that have a vector, a run at a time.
void place_each(base::RowBlocks& rows, uint32_t n_docs, const int16_t* exponents,
                std::vector<base::Place>& out) {
  constexpr uint32_t kRows = base::RowBlocks::kRowsPerBlock;
  for (uint32_t block = 0; block * kRows < n_docs; ++block) {
    const uint32_t end = std::min(n_docs, (block + 1) * kRows);
    base::interruption_point();
    for (uint32_t doc = block * kRows; doc < end;) {
      if (!has_row(exponents, doc)) {
        ++doc;
        continue;
      }
      const uint32_t first = doc;
      while (doc < end && has_row(exponents, doc)) ++doc;
      (void)rows.place(end - 1, 0);  // allocates the whole first block before places in it are taken
      out.push_back({rows.place(first, 0), (doc - first) * rows.row_bytes()});
    }
  }
}

// Whether every element of a stored row is at most 2 in magnitude, which also rules out NaN and infinity, and
// one is not zero. (It is at most 1, unless the vector has an element of 2^127 or more: column.hpp.) `Signed` has the elements' width: without the sign bit IEEE numbers are
// ordered like integers, and the baseline's vector instructions can compute maxima of signed ones.
template <class Signed>
[[nodiscard]] bool in_range(const char* row, uint32_t n, Signed magnitude_mask, Signed two) noexcept {
  Signed greatest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    Signed word;
    std::memcpy(&word, row + i * sizeof word, sizeof word);
    const auto magnitude = static_cast<Signed>(word & magnitude_mask);
    greatest = magnitude > greatest ? magnitude : greatest;
  }
  return greatest <= two && greatest != 0;
}

// The same for bytes, from -127 to 127: whether none is -128, and some byte is not zero.
[[nodiscard]] bool bytes_in_range(const char* row, uint32_t n) noexcept {
  // Collected in whole bytes, which the baseline's vector instructions compare and collect.
  uint8_t least = 0, any = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const auto byte = static_cast<uint8_t>(row[i]);
    least = static_cast<uint8_t>(least | (byte == 0x80 ? 0xff : 0));
    any = static_cast<uint8_t>(any | byte);
  }
  return least == 0 && any != 0;
}

}  // namespace

bool stored_row_in_range(const ColumnOptions& options, const char* row) noexcept {
  const uint32_t n = options.padded_dim();
  switch (options.storage) {
    case Storage::f16:
      return in_range<int16_t>(row, n, 0x7fff, 0x4000);
    case Storage::f32:
      return in_range<int32_t>(row, n, 0x7fffffff, 0x40000000);
    case Storage::i8:
      break;
  }
  return bytes_in_range(row, n);
}

bool Column::scales_in_range(uint32_t n_docs) const noexcept {
  const int one = 1 << exponent_fraction_bits(options_.storage);
  const int least = -149 * one, greatest = 128 * one - 1;  // scales that a float can represent
  bool in_range = true;
  const int16_t* exponents = exponents_.read();
  const float* values = values_.read();
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    if (exponents[doc] == RowScales::kNoVector) continue;
    in_range &= exponents[doc] >= least && exponents[doc] <= greatest;
    if (!values) continue;
    in_range &= std::isfinite(values[doc]) && values[doc] >= 0.0f;
    in_range &= options_.metric != Metric::cosine || values[doc] > 0.0f;
  }
  return in_range;
}

void Column::place_scales(uint32_t n_docs, std::vector<base::Place>& out) {
  place_array(exponents_, n_docs, out);
  if (options_.metric != Metric::inner_product) place_array(values_, n_docs, out);
}

uint32_t Column::n_placed_rows(uint32_t n_docs) const noexcept {
  uint32_t n = 0;
  for (uint32_t doc = 0; doc < n_docs; ++doc) n += has_row(exponents_.read(), doc) ? 1u : 0u;
  return n;
}

void Column::place_rows(uint32_t n_docs, std::vector<base::Place>& out) {
  place_each(rows_, n_docs, exponents_.read(), out);
}

size_t Column::placed_code_bytes(uint32_t n_docs) const noexcept {
  const size_t numbers =
      sizeof(float) + (options_.metric == Metric::l2 ? sizeof(float) : 0) + sizeof(CodeError);
  return n_docs * numbers + n_placed_rows(n_docs) * code_bytes(options_.dim);
}

void Column::place_codes(uint32_t n_docs, std::vector<base::Place>& out) {
  auto codes = std::make_unique<Codes>(options_);
  codes->place(n_docs, exponents_.read(), out);
  codes_.store(codes.release(), std::memory_order_release);
}

bool Column::settle(uint32_t n_docs) {
  if (!scales_in_range(n_docs)) return false;
  Codes* codes = codes_.load(std::memory_order_relaxed);
  if (codes && !codes->settle(n_docs, exponents_.read())) return false;
  size_.store(n_docs, std::memory_order_release);
  return true;
}

void Codes::place(uint32_t n_docs, const int16_t* exponents, std::vector<base::Place>& out) {
  place_array(factors_, n_docs, out);
  if (metric_ == Metric::l2) place_array(biases_, n_docs, out);
  place_array(errors_, n_docs, out);
  place_each(rows_, n_docs, exponents, out);
}

bool Codes::settle(uint32_t n_docs, const int16_t* exponents) {
  bool in_range = true;
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    const CodeError error = errors_.data()[doc];
    in_range &= error.bits <= 0x7f80 || error.bits == CodeError().bits;
    in_range &= error.has_code() == has_row(exponents, doc);
    in_range &= std::isfinite(factors_.data()[doc]);
  }
  if (metric_ == Metric::l2)
    for (uint32_t doc = 0; doc < n_docs; ++doc) in_range &= std::isfinite(biases_.data()[doc]);
  if (!in_range) return false;
  while (signs_ && n_docs >= kSignedDocs && signs_->size() < n_docs / Signs::kPlaneDocs * Signs::kPlaneDocs)
    signs_->follow({rows_, factors_.data(), errors_.data()}, signs_->size(), n_docs);
  size_.store(n_docs, std::memory_order_release);
  return true;
}

}  // namespace scrubjay::vector
