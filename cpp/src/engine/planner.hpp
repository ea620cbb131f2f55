// Planner: the cheapest strategy for a vector search.
//
// All constants are measured; `python -m benchmarks.micro` prints what they are made from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "engine/expansion.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

// Tests and benchmarks can force a strategy; an unavailable one falls back to the previous one in this list.
enum class VectorPlan : uint8_t { automatic, rows, codes, graph };

}  // namespace scrubjay::engine

namespace scrubjay::engine::planner {

// If a filter admits less than one in this many documents, the originals of the admitted documents are
// compared instead of the codes of all passages.
inline constexpr uint64_t kFewOfPassages = 32;

// Share of the misses allowed by the requested recall that a scan of codes may use: its margin is cheap.
inline constexpr double kScanMissShare = 0.01;

// Picoseconds per byte, from the near caches and from beyond them: for rows read in order, rows read at
// random, codes read in order.
struct ByteCost {
  double near, far;
  [[nodiscard]] constexpr double of(double n_bytes, double n_bytes_in_all) const noexcept {
    constexpr double kNearBytes = 1.5e6;  // of a second-level cache of 2 MB
    return n_bytes * (n_bytes_in_all > kNearBytes ? far : near);
  }
};
inline constexpr ByteCost kRowByte{37.0, 56.0}, kPickedRowByte{45.0, 200.0}, kCodeByte{18.0, 36.0};
// Picoseconds per byte for codes that are read one by one.
inline constexpr double kPickedCodeByte = 60.0;
// Rotating the query and selecting candidates, in picoseconds.
inline constexpr double kCodeStart = 600'000.0;
// Number of originals that a scan of codes compares, as a multiple of k.
inline constexpr double kLookedAt = 1.8;
// Signs: bytes read in order; the bound of a document; the tables of a query and two more selections; the
// share of documents that remains (a sixteenth for real embeddings of 640 dimensions; for clustered vectors
// as many as a cluster has).
inline constexpr ByteCost kSignByte{22.0, 28.0};
inline constexpr double kSignBound = 500.0, kSignStart = 2'500'000.0, kSiftedShare = 0.08;
// Graph search, in picoseconds per unit of ef and block of code.
inline constexpr double kInView = 400'000.0;

[[nodiscard]] inline double row_scan_cost(double n_docs, const vector::ColumnOptions& options) noexcept {
  const double bytes = n_docs * static_cast<double>(options.row_bytes());
  return kRowByte.of(bytes, bytes);
}

// Cost of n_rows among n_docs.
[[nodiscard]] inline double picked_rows_cost(double n_rows, double n_docs,
                                             const vector::ColumnOptions& options) noexcept {
  const auto row = static_cast<double>(options.row_bytes());
  return kPickedRowByte.of(n_rows * row, n_docs * row);
}

[[nodiscard]] inline double code_scan_cost(double n_docs, size_t k,
                                           const vector::ColumnOptions& options) noexcept {
  const double bytes = n_docs * static_cast<double>(vector::code_bytes(options.dim));
  const double originals = picked_rows_cost(kLookedAt * static_cast<double>(k), n_docs, options);
  if (vector::has_signs(options.dim) && vector::is_worth_sifting(static_cast<uint64_t>(n_docs), k))
    return kCodeStart + kSignStart + kSignBound * n_docs + kSignByte.of(bytes / 4, bytes / 4) +
           kPickedCodeByte * kSiftedShare * bytes + originals;
  return kCodeStart + kCodeByte.of(bytes, bytes) + originals;
}

// Whether scanning codes and some originals beats scanning all originals.
[[nodiscard]] inline bool codes_repay(uint32_t n_docs, size_t k,
                                      const vector::ColumnOptions& options) noexcept {
  return code_scan_cost(n_docs, k, options) < row_scan_cost(n_docs, options);
}

// A graph search is abandoned if fewer than this fraction of the expected visible neighbours are found, or
// if it computes too many distances.
inline constexpr double kLeastMet = 0.5;
[[nodiscard]] inline size_t most_measured(uint64_t n_docs) noexcept {
  return std::max<size_t>(4096, static_cast<size_t>(n_docs / 8));
}

// A partition with this many bytes of codes gets a graph. The graph is extended when the documents written
// beside it reach one in kBesideShare of those it holds: until then they are scanned, and copying the lists
// (0.3 us per vector in the graph) costs a twentieth of the insertions (100 us and more for each). It is
// rebuilt when one in kDeadShare of its documents is deleted.
inline constexpr uint64_t kGraphBytes = 8u << 20;
inline constexpr uint64_t kBesideShare = 16;
inline constexpr uint64_t kDeadShare = 4;

// Whether comparing n_matches rows individually is cheaper than scanning all of them, by codes or not.
[[nodiscard]] inline bool gathering_repays(uint32_t n_matches, uint32_t n_docs, size_t k, bool coded,
                                           const vector::ColumnOptions& options) noexcept {
  const bool by_codes = coded && codes_repay(n_docs, k, options);
  return picked_rows_cost(n_matches, n_docs, options) <
         (by_codes ? code_scan_cost(n_docs, k, options) : row_scan_cost(n_docs, options));
}

[[nodiscard]] inline double picked_codes_cost(double n_matches, double n_docs, size_t k,
                                              const vector::ColumnOptions& options) noexcept {
  return kCodeStart + kPickedCodeByte * n_matches * static_cast<double>(vector::code_bytes(options.dim)) +
         picked_rows_cost(kLookedAt * static_cast<double>(k), n_docs, options);
}

// Whether comparing the codes of n_matches documents is cheaper than the other strategies.
[[nodiscard]] inline bool gathering_codes_repays(uint32_t n_matches, uint32_t n_docs, size_t k,
                                                 const vector::ColumnOptions& options) noexcept {
  const double cost = picked_codes_cost(n_matches, n_docs, k, options);
  return cost < picked_rows_cost(n_matches, n_docs, options) &&
         cost < (codes_repay(n_docs, k, options) ? code_scan_cost(n_docs, k, options)
                                                 : row_scan_cost(n_docs, options));
}

// Whether the graph over `n_docs` documents, of which this share may be returned, is cheaper than scanning
// their codes: all of them, or with a filter those of the matches.
[[nodiscard]] inline bool graph_repays(uint64_t n_docs, double visible_share, const ExpansionScales& scales,
                                       bool filtered, size_t k, double recall,
                                       const vector::ColumnOptions& options) noexcept {
  const auto docs = static_cast<double>(n_docs);
  const double blocks = vector::n_code_blocks(options.dim);
  const double cost = static_cast<double>(expansion_among(recall, k, visible_share, scales)) * kInView *
                      (1.0 + 0.15 * blocks);
  return cost < code_scan_cost(docs, k, options) &&
         (!filtered || cost < picked_codes_cost(visible_share * docs, docs, k, options));
}

}  // namespace scrubjay::engine::planner
