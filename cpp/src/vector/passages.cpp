#include "vector/passages.hpp"

namespace scrubjay::vector {

void Passages::drop_from(uint32_t doc) noexcept {
  while (n_entries_ != 0 && entries_.data()[n_entries_ - 1].doc >= doc)
    n_rows_ = entries_.data()[--n_entries_].first;
}

void Passages::append(uint32_t doc, std::span<const RowScale> scales, const char* rows,
                      std::span<const PassageSpan> spans) {
  const auto n = static_cast<uint32_t>(spans.size());
  entries_.reserve(n_entries_ + 1, n_entries_);
  spans_.reserve(n_rows_ + n, n_rows_);
  for (uint32_t i = 0; i < n; ++i) {
    rows_.append_stored(n_rows_ + i, scales[i], rows + i * rows_.options().row_bytes());
    spans_.data()[n_rows_ + i] = spans[i];
  }
  add_entry(doc, n);
}

void Passages::append_copy(uint32_t doc, const Passages& from, const PassageEntry& entry) {
  entries_.reserve(n_entries_ + 1, n_entries_);
  spans_.reserve(n_rows_ + entry.n, n_rows_);
  for (uint32_t i = 0; i < entry.n; ++i) {
    rows_.append_copy(n_rows_ + i, from.rows_, entry.first + i);
    spans_.data()[n_rows_ + i] = from.span(entry.first + i);
  }
  add_entry(doc, entry.n);
}

void Passages::add_entry(uint32_t doc, uint32_t n) noexcept {
  entries_.data()[n_entries_++] = {doc, n_rows_, n};
  n_rows_ += n;
}

void Passages::publish(uint32_t n_docs) noexcept {
  uint32_t n = n_published_.load(std::memory_order_relaxed);
  while (n < n_entries_ && entries_.data()[n].doc < n_docs) ++n;
  n_published_.store(n, std::memory_order_release);
}

std::span<const PassageEntry> Passages::entries(uint32_t n_docs) const noexcept {
  const std::span<const PassageEntry> all = entries();
  if (all.empty() || all.back().doc < n_docs) return all;
  const auto end = std::partition_point(all.begin(), all.end(),
                                        [&](const PassageEntry& entry) { return entry.doc < n_docs; });
  return all.first(static_cast<size_t>(end - all.begin()));
}

const PassageEntry* Passages::find(uint32_t doc) const noexcept {
  const std::span<const PassageEntry> all = entries();
  const auto position = std::partition_point(all.begin(), all.end(),
                                             [&](const PassageEntry& entry) { return entry.doc < doc; });
  return position != all.end() && position->doc == doc ? &*position : nullptr;
}

NearestPassage Passages::nearest(const PassageEntry& entry, const PreparedQuery& query) const {
  NearestPassage best{entry.first, rows_.similarity(entry.first, query)};
  for (uint32_t row = entry.first + 1; row < entry.first + entry.n; ++row) {
    const float similarity = rows_.similarity(row, query);
    if (similarity > best.similarity) best = {row, similarity};
  }
  return best;
}

}  // namespace scrubjay::vector
