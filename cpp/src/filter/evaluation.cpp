// Evaluation of a predicate over the columns of a chunk.

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include "filter/predicate.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::filter {
namespace {

constexpr size_t kMaxPasses = 8;  // runs of codes: if there are more, each code is looked up instead
constexpr size_t kMostSorted = 64;
// Maximum number of values whose digests are looked for in each block: about 6 instructions per value and 2
// per document instead of 36, which pays for up to five times as many values as documents.
constexpr size_t kMostByDigest = 4 * Digests::kBlock;

void set_bit(uint64_t* bits, uint32_t i) noexcept { bits[i / 64] |= uint64_t{1} << (i % 64); }

void add_code_run(const Track<uint16_t>::View& view, uint16_t first, uint16_t last, uint64_t* out) {
  const auto span = static_cast<uint16_t>(last - first);
  if (view.dense) {
    simd::kernels().match_codes(view.values.data(), view.values.size(), first, span, out);
    return;
  }
  for (size_t i = 0; i < view.values.size(); ++i) {
    if (static_cast<uint16_t>(view.values[i] - first) <= span) set_bit(out, view.docs[i]);
  }
}

void add_range(const Track<int64_t>::View& view, Range range, uint64_t* out) {
  if (view.dense) {
    const auto n = static_cast<uint32_t>(view.values.size());
    const int64_t* values = view.values.data();
    const uint32_t n_matched =
        view.digests ? view.digests->match(values, n, range.least, range.greatest, out) : 0;
    simd::kernels().match_range(values + n_matched, n - n_matched, range.least, range.greatest,
                                out + n_matched / 64);
    return;
  }
  for (size_t i = 0; i < view.values.size(); ++i) {
    if (view.values[i] >= range.least && view.values[i] <= range.greatest) set_bit(out, view.docs[i]);
  }
}

// Sets the bits of the documents from `first`, a multiple of 64, on whose values pass. 64 at a time if every
// document has a value, since a branch per document would be mispredicted.
template <class Passes>
void add_passing(const Track<int64_t>::View& view, Passes&& passes, uint64_t* out, size_t first = 0) {
  const size_t n = view.values.size();
  for (; view.dense && first < n; first += 64) {
    const size_t end = std::min(n, first + 64);
    uint64_t bits = 0;
    for (size_t i = first; i < end; ++i) bits |= uint64_t{passes(view.values[i])} << (i - first);
    out[first / 64] |= bits;
  }
  for (size_t i = first; !view.dense && i < n; ++i)
    if (passes(view.values[i])) set_bit(out, view.docs[i]);
}

}  // namespace

void Evaluation::run(const Predicate& predicate, const Columns* columns, uint32_t n_docs, uint64_t* out) {
  predicate_ = &predicate;
  columns_ = columns;
  n_docs_ = n_docs;
  n_words_ = (n_docs + 63) / 64;
  evaluate(predicate.root(), 0, out);
}

uint64_t* Evaluation::buffer(uint32_t depth) {
  while (buffers_.size() <= depth) buffers_.emplace_back();
  if (buffers_[depth].size() < n_words_) buffers_[depth].resize(n_words_);
  return buffers_[depth].data();
}

void Evaluation::evaluate(const Node& node, uint32_t depth, uint64_t* out) {
  const auto fill = [&](bool bit) {
    if (n_words_ == 0) return;
    std::memset(out, bit ? 0xff : 0, n_words_ * sizeof(uint64_t));
    if (bit && n_docs_ % 64 != 0) out[n_words_ - 1] = (uint64_t{1} << (n_docs_ % 64)) - 1;
  };
  switch (node.kind) {
    case Node::Kind::test:
      fill(false);
      add_test(predicate_->tests()[node.test], out);
      return;
    case Node::Kind::all: {
      if (node.children.empty()) return fill(true);
      evaluate(node.children[0], depth, out);
      for (size_t i = 1; i < node.children.size(); ++i) {
        if (std::all_of(out, out + n_words_, [](uint64_t word) { return word == 0; })) return;
        uint64_t* other = buffer(depth);
        evaluate(node.children[i], depth + 1, other);
        for (uint32_t w = 0; w < n_words_; ++w) out[w] &= other[w];
      }
      return;
    }
    case Node::Kind::any: {
      fill(false);
      for (const Node& child : node.children) {
        if (child.kind == Node::Kind::test) {
          add_test(predicate_->tests()[child.test], out);
          continue;
        }
        uint64_t* other = buffer(depth);
        evaluate(child, depth + 1, other);
        for (uint32_t w = 0; w < n_words_; ++w) out[w] |= other[w];
      }
      return;
    }
    case Node::Kind::negation:
      evaluate(node.children[0], depth, out);
      for (uint32_t w = 0; w < n_words_; ++w) out[w] = ~out[w];
      if (n_docs_ % 64 != 0) out[n_words_ - 1] &= (uint64_t{1} << (n_docs_ % 64)) - 1;
      return;
  }
}

// Sets the bits of the documents that pass.
void Evaluation::add_test(const Test& test, uint64_t* out) {
  const Column* column = columns_ ? columns_->find(test.field, test.field_hash) : nullptr;
  if (!column) return;
  if (test.any) {
    const Range everything{-std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};
    add_code_run(column->codes.view(n_docs_), 1, 0xffff, out);
    for (const Track<int64_t>* track : {&column->integers, &column->reals, &column->times})
      add_range(track->view(n_docs_), everything, out);
    return;
  }
  add_ranges(column->integers, test.integers, out);
  add_ranges(column->reals, test.reals, out);
  add_ranges(column->times, test.times, out);
  if (test.strings.empty() && test.string_ranges.empty() && !test.yes && !test.no) return;
  if (test.elements) {
    add_elements(test, *column, out);
  } else {
    add_codes(test, *column, out);
    if (test.members) add_elements(test, *column, out);
  }
  add_spilled(test, *column, out);
}

// A bit set of the codes.
const uint32_t* Evaluation::set_of_codes() {
  set_.assign(65536 / 32, 0);
  for (const uint16_t code : codes_) set_[code / 32] |= 1u << (code % 32);
  return set_.data();
}

// Equality and order by codes: each string is tested once, the documents by their codes.
void Evaluation::add_codes(const Test& test, const Column& column, uint64_t* out) {
  codes_.clear();
  if (test.no) codes_.push_back(kFalse);
  if (test.yes) codes_.push_back(kTrue);
  for (const std::string& text : test.strings) {
    const uint32_t number = column.strings.find(text);
    if (number != Interner::kNone) codes_.push_back(static_cast<uint16_t>(kFirstString + number));
  }
  if (!test.string_ranges.empty()) {
    const uint32_t n_strings = column.strings.size();
    for (uint32_t number = 0; number < n_strings; ++number) {
      const std::string_view text = column.strings.at(number);
      for (const StringRange& range : test.string_ranges) {
        if (!range.holds(text)) continue;
        codes_.push_back(static_cast<uint16_t>(kFirstString + number));
        break;
      }
    }
  }
  if (codes_.empty()) return;
  const Track<uint16_t>::View view = column.codes.view(n_docs_);
  // Consecutive codes need one pass over the documents together. Those of a long $in are seldom consecutive,
  // and are not sorted.
  if (codes_.size() <= kMostSorted) std::sort(codes_.begin(), codes_.end());
  const auto in_a_row = [&](size_t i) {
    return codes_[i] == codes_[i - 1] || codes_[i] == codes_[i - 1] + 1;
  };
  size_t n_runs = 1;
  for (size_t i = 1; i < codes_.size(); ++i) n_runs += in_a_row(i) ? 0 : 1;
  if (n_runs <= kMaxPasses) {
    for (size_t i = 0; i < codes_.size();) {
      size_t end = i + 1;
      while (end < codes_.size() && in_a_row(end)) ++end;
      add_code_run(view, codes_[i], codes_[end - 1], out);
      i = end;
    }
    return;
  }
  const uint32_t* set = set_of_codes();
  if (view.dense) {
    simd::kernels().match_code_set(view.values.data(), view.values.size(), set, out);
    return;
  }
  for (size_t i = 0; i < view.values.size(); ++i) {
    if (((set[view.values[i] / 32] >> (view.values[i] % 32)) & 1) != 0) set_bit(out, view.docs[i]);
  }
}

void Evaluation::add_ranges(const Track<int64_t>& track, const std::vector<Range>& ranges, uint64_t* out) {
  if (ranges.empty()) return;
  const Track<int64_t>::View view = track.view(n_docs_);
  if (view.values.empty()) return;
  if (ranges.size() <= kMaxPasses) {
    for (const Range& range : ranges) add_range(view, range, out);
    return;
  }
  if (values_.assign(ranges)) {  // many values of an $in
    uint32_t n_matched = 0;
    if (view.digests && values_.values().size() <= kMostByDigest) {
      set_.assign(Digests::kDigestSetWords, 0);
      n_matched = view.digests->match_set(view.values.data(), static_cast<uint32_t>(view.values.size()),
                                          values_, set_.data(), out);
    }
    add_passing(view, [&](int64_t value) { return values_.holds(value); }, out, n_matched);
    return;
  }
  std::vector<Range> sorted = ranges;
  std::sort(sorted.begin(), sorted.end(), [](const Range& a, const Range& b) { return a.least < b.least; });
  for (size_t i = 1; i < sorted.size(); ++i)  // extend each to the end of all that begin before it
    sorted[i].greatest = std::max(sorted[i].greatest, sorted[i - 1].greatest);
  const auto passes = [&](int64_t value) {
    const auto after =
        std::upper_bound(sorted.begin(), sorted.end(), value,
                         [](int64_t wanted, const Range& range) { return wanted < range.least; });
    return after != sorted.begin() && value <= std::prev(after)->greatest;
  };
  add_passing(view, passes, out);
}

void Evaluation::add_elements(const Test& test, const Column& column, uint64_t* out) {
  const RowList<uint16_t>::View view = column.elements.view(n_docs_);
  if (view.rows.empty()) return;
  codes_.clear();
  for (const std::string& text : test.strings) {
    const uint32_t number = column.strings.find(text);
    if (number != Interner::kNone) codes_.push_back(static_cast<uint16_t>(kFirstString + number));
  }
  if (codes_.empty()) return;
  rows_.assign((view.rows.size() + 63) / 64, 0);
  if (codes_.size() <= kMaxPasses) {
    for (const uint16_t code : codes_)
      simd::kernels().match_codes(view.rows.data(), view.rows.size(), code, 0, rows_.data());
  } else {
    simd::kernels().match_code_set(view.rows.data(), view.rows.size(), set_of_codes(), rows_.data());
  }
  for (size_t w = 0; w < rows_.size(); ++w) {
    for (uint64_t bits = rows_[w]; bits != 0; bits &= bits - 1)
      set_bit(out, view.docs[64 * w + static_cast<size_t>(std::countr_zero(bits))]);
  }
}

void Evaluation::add_spilled(const Test& test, const Column& column, uint64_t* out) {
  const RowList<SpilledString>::View view = column.spilled.view(n_docs_);
  for (size_t i = 0; i < view.rows.size(); ++i) {
    const SpilledString& row = view.rows[i];
    if (row.element != test.elements && !(row.element && test.members)) continue;
    const bool passes =
        std::find(test.strings.begin(), test.strings.end(), row.text()) != test.strings.end() ||
        std::any_of(test.string_ranges.begin(), test.string_ranges.end(),
                    [&](const StringRange& range) { return range.holds(row.text()); });
    if (passes) set_bit(out, view.docs[i]);
  }
}

}  // namespace scrubjay::filter
