// Kept terms: the terms of several texts, until they are written.
//
// Sixteen bytes per term, plus the bytes of terms that do not fit into their key: the content of TermCounts
// without views into an analysis that the next one overwrites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexical/term_counts.hpp"

namespace scrubjay::lexical {

struct KeptTerm {
  uint64_t key;
  uint32_t count;
  uint32_t at;  // offset of a long term's length byte, which precedes its bytes
};

// The distinct terms of one text.
class TermSpan {
 public:
  TermSpan() = default;
  TermSpan(std::span<const KeptTerm> terms, const char* bytes) noexcept : terms_(terms), bytes_(bytes) {}
  [[nodiscard]] size_t size() const noexcept { return terms_.size(); }
  [[nodiscard]] uint64_t key(size_t i) const noexcept { return terms_[i].key; }
  [[nodiscard]] uint32_t count(size_t i) const noexcept { return terms_[i].count; }
  // Empty for a term that is packed in its key.
  [[nodiscard]] std::string_view term(size_t i) const noexcept {
    if (text::is_packed(terms_[i].key)) return {};
    const char* at = bytes_ + terms_[i].at;
    return {at + 1, static_cast<unsigned char>(*at)};
  }

 private:
  std::span<const KeptTerm> terms_;
  const char* bytes_ = nullptr;
};

class KeptTerms {
 public:
  // The terms of one text.
  struct Range {
    size_t first = 0, n = 0, first_byte = 0;
  };
  [[nodiscard]] Range add(std::span<const TermCount> terms) {
    const Range range{terms_.size(), terms.size(), bytes_.size()};
    terms_.reserve(range.first + range.n > terms_.capacity() ? range.first + range.n + terms_.capacity() / 2
                                                             : 0);
    for (const TermCount& term : terms) {
      terms_.push_back({term.key, term.count, static_cast<uint32_t>(bytes_.size() - range.first_byte)});
      if (text::is_packed(term.key)) continue;
      bytes_.push_back(static_cast<char>(term.term.size()));
      bytes_ += term.term;
    }
    return range;
  }
  // Valid until the next add().
  [[nodiscard]] TermSpan operator[](const Range& range) const noexcept {
    return {std::span<const KeptTerm>(terms_).subspan(range.first, range.n),
            bytes_.data() + range.first_byte};
  }
  void clear() noexcept {
    terms_.clear();
    bytes_.clear();
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return terms_.capacity() * sizeof(KeptTerm) + bytes_.capacity();
  }

 private:
  std::vector<KeptTerm> terms_;
  std::string bytes_;
};

}  // namespace scrubjay::lexical
