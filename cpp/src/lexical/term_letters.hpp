// Term letters: an index of the terms of a dictionary that contain given letters.
//
// Maps every four adjacent letters of the terms of 8 to 48 letters a to z (text/compounds.hpp) to the terms
// that contain them. A lookup uses the rarest four adjacent letters of the query and compares those terms.
// Spelling correction asks for each unknown query word in a scope that has compounds (engine/spelling.hpp); a
// scan of all terms takes hundreds of microseconds for 30,000 documents, this takes less than one.
//
// Built from the dictionary's bytes at one point in time and immutable: later terms are scanned, and when
// there are too many of them a new index is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace scrubjay::lexical {

class TermLetters {
 public:
  static constexpr size_t kTogether = 4;

  // `bytes`: terms, each after a length byte. May throw std::bad_alloc. About 30 bytes per term.
  explicit TermLetters(std::string_view bytes);

  // The size of the bytes it was built from: terms from this offset on are not indexed.
  [[nodiscard]] size_t n_bytes() const noexcept { return n_bytes_; }
  // Calls visit(term) for each term that contains `letters` (kTogether or more), in the order of the
  // dictionary. `bytes`: those that it was built from; others may have been appended.
  void find(std::string_view letters, const char* bytes,
            const std::function<void(std::string_view)>& visit) const;

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  [[nodiscard]] size_t group_of(const char* four) const noexcept;
  [[nodiscard]] std::span<const uint32_t> places(size_t group) const noexcept {
    return {places_.get() + begins_[group], begins_[group + 1] - begins_[group]};
  }

  size_t n_bytes_;
  unsigned shift_;
  std::unique_ptr<uint32_t[]>
      begins_;  // start of each group of letters in places_, and the end of the last one
  std::unique_ptr<uint32_t[]> places_;  // offsets of the terms' length bytes, ascending by group, some twice
};

// The same by scanning bytes [from, size) of all terms, for any letters.
void find_in_terms(std::string_view letters, std::string_view bytes, size_t from,
                   const std::function<void(std::string_view)>& visit);

}  // namespace scrubjay::lexical
