#include "lexical/term_counts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/interruption.hpp"

namespace scrubjay::lexical {

std::span<const TermCount> TermCounter::count(std::span<const text::Token> tokens) {
  constexpr size_t kFew = 8;  // like most queries: comparing all pairs is cheaper than a table
  if (tokens.size() <= kFew) {
    count_few(tokens);
  } else {
    while (!count_all(tokens)) probing_ = probing_.harder();
  }
  return terms_;
}

// Same as count_all().
void TermCounter::count_few(std::span<const text::Token> tokens) {
  terms_.clear();
  length_ = 0;
  for (const text::Token& token : tokens) {
    const bool counts = text::counts(token.kind);
    length_ += counts ? 1 : 0;
    const auto same = std::find_if(terms_.begin(), terms_.end(), [&](const TermCount& term) {
      return term.key == token.key && (text::is_packed(token.key) || term.term == token.term);
    });
    if (same == terms_.end()) {
      terms_.push_back({token.term, token.key, 1, counts});
    } else {
      ++same->count;
      same->counts |= counts;
    }
  }
}

// Returns false if a term would be beyond the probe limit.
bool TermCounter::count_all(std::span<const text::Token> tokens) {
  terms_.clear();
  length_ = 0;
  const size_t n_slots = std::bit_ceil(2 * tokens.size() + 1);
  if (table_.size() < n_slots) table_.resize(n_slots);
  std::fill_n(table_.begin(), n_slots, 0u);
  const base::Probing probing = probing_;
  constexpr size_t kTokensALook = 4096;
  size_t n_left = kTokensALook;
  for (const text::Token& token : tokens) {
    if (--n_left == 0) {
      base::interruption_point();
      n_left = kTokensALook;
    }
    const bool counts = text::counts(token.kind);
    length_ += counts ? 1 : 0;
    size_t i = probing.home_of_key(token.key) & (n_slots - 1);
    for (uint32_t left = probing.most();; i = (i + 1) & (n_slots - 1)) {
      if (table_[i] == 0) {
        terms_.push_back({token.term, token.key, 1, counts});
        table_[i] = static_cast<uint32_t>(terms_.size());
        break;
      }
      TermCount& term = terms_[table_[i] - 1];
      if (term.key == token.key && (text::is_packed(token.key) || term.term == token.term)) {
        ++term.count;
        term.counts |= counts;
        break;
      }
      if (--left == 0) return false;
    }
  }
  return true;
}

void TermCounter::start() {
  terms_.clear();
  length_ = 0;
  bytes_ = std::make_unique<base::ByteArena>();
  table_.assign(size_t{1} << 14, 0u);
}

void TermCounter::add(std::span<const text::Token> tokens) {
  for (const text::Token& token : tokens) {
    if (2 * (terms_.size() + 1) > table_.size()) rehash(2 * table_.size());
    const size_t n_before = terms_.size();
    const uint32_t length = length_;
    while (!add(token, table_.size() - 1)) {
      length_ = length;
      probing_ = probing_.harder();
      rehash(table_.size());
    }
    if (terms_.size() == n_before) continue;
    terms_.back().term = {};
    if (text::is_packed(token.key)) continue;
    char* bytes = bytes_->allocate(token.term.size());
    std::memcpy(bytes, token.term.data(), token.term.size());
    terms_.back().term = {bytes, token.term.size()};
  }
}

// Returns false if the term would be beyond the probe limit.
bool TermCounter::add(const text::Token& token, size_t mask) {
  const bool counts = text::counts(token.kind);
  length_ += counts ? 1 : 0;
  size_t i = probing_.home_of_key(token.key) & mask;
  for (uint32_t left = probing_.most(); left != 0; --left, i = (i + 1) & mask) {
    if (table_[i] == 0) {
      terms_.push_back({token.term, token.key, 1, counts});
      table_[i] = static_cast<uint32_t>(terms_.size());
      return true;
    }
    TermCount& term = terms_[table_[i] - 1];
    if (term.key == token.key && (text::is_packed(token.key) || term.term == token.term)) {
      ++term.count;
      term.counts |= counts;
      return true;
    }
  }
  return false;
}

// Places all terms into a table with this many slots.
void TermCounter::rehash(size_t n_slots) {
  const auto place = [&](uint32_t number) {
    size_t i = probing_.home_of_key(terms_[number].key) & (n_slots - 1);
    for (uint32_t left = probing_.most(); left != 0; --left, i = (i + 1) & (n_slots - 1)) {
      if (table_[i] != 0) continue;
      table_[i] = number + 1;
      return true;
    }
    return false;
  };
  for (bool placed = false; !placed;) {
    table_.assign(n_slots, 0u);
    placed = true;
    for (uint32_t number = 0; placed && number < terms_.size(); ++number) placed = place(number);
    if (!placed) probing_ = probing_.harder();
  }
}

}  // namespace scrubjay::lexical
