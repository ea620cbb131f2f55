// Impact tables: memory for the contributions of a query's terms, indexed by payload.
//
// A table is indexed by whole payloads, so its rows, one per term frequency, are 8 KB apart, but each row
// uses only the lengths of the term's documents: about a hundred in short texts. Many tables therefore share
// a sheet of 264 KB, side by side: the tables of a question of two hundred words fit into a dozen sheets, and
// touch few pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/growing.hpp"
#include "lexical/posting.hpp"

namespace scrubjay::lexical {

// Keeps its sheets for the next query. Only pages that were used take memory.
class ImpactTables {
 public:
  static constexpr size_t kMostSheets = 64;
  static constexpr uint32_t kAtOnce = 16;  // lengths that simd::Kernels::fill_impacts() writes together

  // Frees all tables; call before each query.
  void clear() noexcept {
    n_used_ = 0;
    column_ = kColumns;
  }

  // Returns a table for payloads with these lengths (at most kMaxLengthCode) and any frequency from 1; its
  // content is unspecified. Null if there is no room. Valid until clear(). May throw std::bad_alloc.
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
  // Rows for all frequencies, after one for frequency zero, which is never read, and one before it, since a
  // table may begin before its first length.
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
  uint32_t column_ = kColumns;  // column of the next table in the last used sheet
};

}  // namespace scrubjay::lexical
