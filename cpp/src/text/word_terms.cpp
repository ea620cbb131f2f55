#include "text/word_terms.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/seeded_hash.hpp"
#include "text/characters.hpp"
#include "text/porter2.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMaxMemoEntries = size_t{1} << 16;
constexpr size_t kMaxMemoWordBytes = 64;  // longer words are rare, and stemmed each time

}  // namespace

struct StemMemo::State {
  Stemmer stemmer;
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::string, base::SeededHash, std::equal_to<>> stems;
};

StemMemo::StemMemo(Stemmer stemmer) : state_(std::make_unique<State>()) {
  state_->stemmer = std::move(stemmer);
}
StemMemo::~StemMemo() = default;

std::string StemMemo::stem(std::string_view word) const {
  if (word.size() > kMaxMemoWordBytes) return sanitize_utf8(state_->stemmer(word));
  {
    const std::shared_lock lock(state_->mutex);
    if (const auto found = state_->stems.find(word); found != state_->stems.end()) return found->second;
  }
  std::string stem = sanitize_utf8(state_->stemmer(word));
  if (stem.size() <= kMaxTermBytes) {
    const std::unique_lock lock(state_->mutex);
    if (state_->stems.size() >= kMaxMemoEntries) state_->stems.clear();
    state_->stems.emplace(word, stem);
  }
  return stem;
}

bool is_acronym_plural(std::string_view word) noexcept {
  return word.size() >= 3 && word.back() == 's' && std::all_of(word.begin(), word.end() - 1, is_upper);
}

bool has_digit(std::string_view text) noexcept { return std::any_of(text.begin(), text.end(), is_digit); }

std::string_view TermMaker::plain_word(std::string_view letters, const TermRules& rules) {
  if (rules.stemming == Stemming::custom || rules.stemming == Stemming::snowball) return word(letters, rules);
  stem_.resize(letters.size());
  std::transform(letters.begin(), letters.end(), stem_.begin(), to_lower);
  if (rules.stemming == Stemming::english) stem_.resize(porter2_in_place(stem_.data(), stem_.size()));
  return stem_;
}

std::string_view TermMaker::word(std::string_view text, const TermRules& rules) {
  if (is_acronym_plural(text)) text.remove_suffix(1);
  if (has_digit(text)) return folder_.fold(text);
  const std::string_view cased = folder_.fold_case_only(text);
  if (rules.stemming == Stemming::custom) {
    stem_ = rules.memo->stem(cased);
    return folder_.fold(stem_);
  }
  if (rules.stemming == Stemming::snowball) {
    stemmer_.stem(*rules.program, cased, stem_);
    return folder_.fold(stem_);
  }
  const std::string_view folded = folder_.fold(cased);
  if (rules.stemming == Stemming::none || !std::all_of(folded.begin(), folded.end(), is_lower)) return folded;
  stem_.assign(folded);
  stem_.resize(porter2_in_place(stem_.data(), stem_.size()));
  return stem_;
}

}  // namespace scrubjay::text
