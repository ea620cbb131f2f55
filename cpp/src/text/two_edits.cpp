#include "text/two_edits.hpp"

#include <algorithm>
#include <bit>

#include "text/kept_letters.hpp"
#include "text/porter2.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMostWordBytes = 64;

}  // namespace

// Adds one letter of a at a time; bit j of within[n] says whether the letters so far are at most n edits from the
// first j of b (Wu and Manber, 1992; a transposition goes two steps back).
TwoEdits::Beginnings TwoEdits::beginnings_near(std::string_view a) const noexcept {
  Beginnings within{1, 3, 7}, before{};
  uint32_t previous = 0;  // where b has the previous letter
  for (const char c : a) {
    const uint32_t same = places_[static_cast<size_t>(c - 'a')], exchanged = same & previous >> 1;
    Beginnings next;
    next[0] = (within[0] & same) << 1;
    for (size_t n = 1; n < next.size(); ++n)
      next[n] = (within[n] & same) << 1 | within[n - 1] | within[n - 1] << 1 | next[n - 1] << 1 |
                (before[n - 1] & exchanged) << 2;
    before = within;
    within = next;
    previous = same;
    if (within.back() == 0) break;
  }
  for (uint32_t& lengths : within) lengths &= (uint32_t{2} << word_.size()) - 1;
  return within;
}

bool TwoEdits::is_meant(std::string_view written) const noexcept {
  if (std::min(word_.size(), written.size()) < kLeastBytes || word_.front() != written.front()) return false;
  return written.size() <= word_.size() + 2 && (beginnings_near(written).back() >> word_.size() & 1) != 0;
}

TwoEdits::TwoEdits(std::string_view word, bool stems) noexcept : word_(word), stems_(stems) {
  for (size_t i = 0; i < word.size(); ++i) {
    const auto letter = static_cast<size_t>(word[i] - 'a');
    letters_ |= uint32_t{1} << letter;
    places_[letter] |= uint32_t{1} << i;
  }
  if (stems) letters_ |= (letters_ >> ('y' - 'a') & 1) << ('i' - 'a');
}

std::array<uint32_t, 32> TwoEdits::places() const noexcept {
  std::array<uint32_t, 32> places{~uint32_t{0}};
  std::copy(places_.begin(), places_.end(), places.begin() + 1);
  if (stems_) places['i' - 'a' + 1] |= places_['y' - 'a'];
  return places;
}

bool TwoEdits::may_mean(std::string_view term) const noexcept {
  if (term.size() < kLeastTermBytes || term.size() > word_.size() + 2 || term.front() != word_.front())
    return false;
  if (!stems_) return (beginnings_near(term).back() >> word_.size() & 1) != 0;
  if (is_stem_of_word(term, term)) return true;
  if (term.back() != 'i') return false;
  std::array<char, kMostWordBytes> with_y;
  std::copy(term.begin(), term.end() - 1, with_y.begin());
  with_y[term.size() - 1] = 'y';
  return is_stem_of_word(term, {with_y.data(), term.size()});
}

// `written`: the term as words may begin with it.
bool TwoEdits::is_stem_of_word(std::string_view term, std::string_view written) const noexcept {
  const Beginnings within = beginnings_near(written);
  const size_t last = word_.size();
  const uint32_t long_enough = last > kMostEnding ? ~uint32_t{0} << (last - kMostEnding) : ~uint32_t{0};
  if (term.size() >= kLeastStemWithEnding && (within[1] & long_enough) != 0) return true;
  for (uint32_t ends = within[2] & ~within[1]; ends != 0; ends &= ends - 1) {
    const std::string_view rest = word_.substr(static_cast<size_t>(std::countr_zero(ends)));
    PaddedWord word(written);
    word.append(rest);
    const size_t n_kept = kept_letters(word);
    if (n_kept > term.size()) continue;  // most, which need not be stemmed
    const size_t n = n_kept == word.size() ? n_kept : porter2_in_place(word.letters(), word.size());
    if (word.view().substr(0, n) == term) return true;
  }
  return false;
}

}  // namespace scrubjay::text
