// Planner: by which way is a vector search cheapest?
//
// All constants are measured; `python -m benchmarks.micro` prints what they are made from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vector/column.hpp"

namespace scrubjay::engine::planner {

// A scan of codes may miss this share of what the wanted recall allows: its margin costs little.
inline constexpr double kScanMissShare = 0.01;

// Picoseconds a byte: rows read in order, rows picked out, codes read in order.
inline constexpr double kRowByte = 24.0, kPickedRowByte = 60.0, kCodeByte = 18.0;
// Rotating the query and choosing, in picoseconds.
inline constexpr double kCodeStart = 600'000.0;
// Of the wanted k, how many originals a scan of codes looks at.
inline constexpr double kLookedAt = 1.8;

// Whether scanning codes and some originals beats scanning all originals.
[[nodiscard]] inline bool codes_repay(uint32_t n_docs, size_t k,
                                      const vector::ColumnOptions& options) noexcept {
  const auto rows = static_cast<double>(n_docs), row = static_cast<double>(options.row_bytes());
  const double code = static_cast<double>(vector::code_bytes(options.dim));
  return kCodeStart + rows * code * kCodeByte + kLookedAt * static_cast<double>(k) * row * kPickedRowByte <
         rows * row * kRowByte;
}

}  // namespace scrubjay::engine::planner
