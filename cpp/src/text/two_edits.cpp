#include "text/two_edits.hpp"

#include <algorithm>

#include "text/porter2.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMost = 2;               // edits
constexpr size_t kBand = 2 * kMost + 1;   // beginnings that differ in length by at most that
constexpr uint8_t kFar = kMost + 1;       // any greater distance
constexpr size_t kMostWordBytes = 64;

using Row = std::array<uint8_t, kBand>;

// The edit distances, at most kFar, of a and the beginnings of b of |a| - 2 to |a| + 2 bytes; kFar for those
// that do not exist.
Row distances_of_beginnings(std::string_view a, std::string_view b) noexcept {
  Row row{kFar, kFar, 0, 1, 2}, before{}, before_that{};
  for (size_t j = b.size() + 1; j <= kMost; ++j) row[j + kMost] = kFar;
  before.fill(kFar);
  for (size_t i = 1; i <= a.size(); ++i) {
    before_that = before;
    before = row;
    uint8_t least = kFar;
    for (size_t d = 0; d < kBand; ++d) {
      if (i + d < kMost || i + d - kMost > b.size()) {
        row[d] = kFar;
        continue;
      }
      const size_t j = i + d - kMost;
      unsigned distance = d + 1 < kBand ? before[d + 1] + 1u : kFar;
      if (d > 0) distance = std::min(distance, row[d - 1] + 1u);
      if (j > 0) distance = std::min(distance, before[d] + (a[i - 1] == b[j - 1] ? 0u : 1u));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        distance = std::min(distance, before_that[d] + 1u);
      row[d] = static_cast<uint8_t>(std::min<unsigned>(distance, kFar));
      least = std::min(least, row[d]);
    }
    if (least == kFar && *std::min_element(before.begin(), before.end()) == kFar) break;
  }
  return row;
}

}  // namespace

bool is_within_two_edits(std::string_view a, std::string_view b) noexcept {
  if (a.size() > b.size() + kMost || b.size() > a.size() + kMost) return false;
  return distances_of_beginnings(a, b)[b.size() + kMost - a.size()] <= kMost;
}

bool is_meant_with_two_edits(std::string_view typed, std::string_view written) noexcept {
  return std::min(typed.size(), written.size()) >= TwoEdits::kLeastBytes && typed.front() == written.front() &&
         is_within_two_edits(typed, written);
}

TwoEdits::TwoEdits(std::string_view word, bool stems) noexcept : word_(word), stems_(stems) {
  for (size_t i = 0; i < word.size(); ++i) {
    const uint32_t letter = uint32_t{1} << (word[i] - 'a');
    letters_ |= letter;
    for (size_t at = i < kMost ? 0 : i - kMost; at <= i + kMost; ++at) near_[at] |= letter;
  }
  if (stems) letters_ |= (letters_ >> ('y' - 'a') & 1) << ('i' - 'a');
}

// Each letter that the word does not have near takes an edit. A final i may be a y, and does not count.
bool TwoEdits::may_begin_like(std::string_view term) const noexcept {
  size_t n_far = 0;
  const size_t n = term.back() == 'i' ? term.size() - 1 : term.size();
  for (size_t at = 1; at < n && n_far <= kMost; ++at)
    n_far += (near_[at] >> (term[at] - 'a') & 1) == 0 ? 1 : 0;
  return n_far <= kMost;
}

bool TwoEdits::may_mean(std::string_view term) const noexcept {
  if (term.size() < kLeastTermBytes || term.size() > word_.size() + kMost || term.front() != word_.front())
    return false;
  if (!may_begin_like(term)) return false;
  if (!stems_) return is_within_two_edits(term, word_);
  if (is_stem_of_word(term, term)) return true;
  if (term.back() != 'i') return false;
  std::array<char, kMostWordBytes> with_y;
  std::copy(term.begin(), term.end() - 1, with_y.begin());
  with_y[term.size() - 1] = 'y';
  return is_stem_of_word(term, {with_y.data(), term.size()});
}

// `written`: the term as words may begin with it.
bool TwoEdits::is_stem_of_word(std::string_view term, std::string_view written) const noexcept {
  const Row row = distances_of_beginnings(written, word_);
  for (size_t d = 0; d < kBand; ++d) {
    if (row[d] > kMost) continue;
    const std::string_view rest = word_.substr(written.size() + d - kMost);
    if (row[d] < kMost && rest.size() <= kMostEnding && term.size() >= kLeastStemWithEnding) return true;
    if (row[d] < kMost) continue;
    std::array<char, kMostWordBytes> word;
    const auto end = std::copy(rest.begin(), rest.end(), std::copy(written.begin(), written.end(), word.begin()));
    const size_t n = porter2_in_place(word.data(), static_cast<size_t>(end - word.begin()));
    if (std::string_view(word.data(), n) == term) return true;
  }
  return false;
}

}  // namespace scrubjay::text
