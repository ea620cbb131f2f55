// Impact tables: the memory for the contributions of a query's terms by payload.
//
// A table is indexed by payloads as they stand, so its rows, one a term frequency, are 8 KB apart, but of a row only the
// lengths that the term's documents have are in use: some hundred in short texts. So many tables share a sheet of 264
// KB, side by side: those of a question of two hundred words lie in a dozen sheets, and in few pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/growing.hpp"
#include "lexical/posting.hpp"

namespace scrubjay::lexical {

// Keeps its sheets for the next query. Only the pages that were in use take memory.
class ImpactTables {
 public:
  static constexpr size_t kMostSheets = 64;
  static constexpr uint32_t kAtOnce = 16;  // lengths that simd::Kernels::fill_impacts() writes at once

  // Before a query: all tables are free.
  void clear() noexcept {
    n_used_ = 0;
    column_ = kColumns;
  }

  // A table for payloads of these lengths, at most kMaxLengthCode, and of any frequency from 1; what is written before is
  // anything. Null: there is no room. Valid until clear(). May throw std::bad_alloc.
  [[nodiscard]] uint32_t* take(uint32_t first_length, uint32_t last_length) {
    const uint32_t width = (last_length - first_length + kAtOnce) / kAtOnce * kAtOnce;
    if (column_ + width > kColumns) {
      if (n_used_ == kMostSheets) return nullptr;
      if (n_used_ == sheets_.size()) sheets_.push_back(make_sheet());
      ++n_used_;
      column_ = 0;
    }
    uint32_t* table = sheets_[n_used_ - 1].get() + kColumns + column_ - first_length;
    column_ += width;
    return table;
  }

 private:
  static constexpr uint32_t kColumns = 1u << kLengthBits;
  // Rows of all frequencies behind one of none, which is never looked at, and one before it, for a table may begin in
  // front of its first length.
  static constexpr size_t kEntries = size_t{kMaxTf + 2} * kColumns;

  struct Free {
    void operator()(uint32_t* sheet) const noexcept { base::free_aligned(sheet); }
  };
  using Sheet = std::unique_ptr<uint32_t[], Free>;
  [[nodiscard]] static Sheet make_sheet() {
    return Sheet(static_cast<uint32_t*>(base::allocate_aligned(kEntries * sizeof(uint32_t))));
  }

  std::vector<Sheet> sheets_;
  size_t n_used_ = 0;
  uint32_t column_ = kColumns;  // where the next table of the last used sheet may begin
};

}  // namespace scrubjay::lexical
