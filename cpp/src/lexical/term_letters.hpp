// Term letters: which terms of a dictionary hold these letters?
//
// For every four letters that stand together in a term of 8 to 48 letters a to z (text/compounds.hpp): which terms have
// them. Of the letters that are asked for, the four that fewest terms have are looked up, and those terms compared. The
// spelling of a query asks for each of its unknown words in a scope that has compounds (engine/spelling.hpp); a look
// through the bytes of all terms takes hundreds of microseconds for 30,000 documents, this takes under one.
//
// Made of the dictionary's bytes as they are at a moment, and never changed: the terms that come later are looked
// through, and when they are too many another is made.
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

  // `bytes`: terms, each behind a byte with its length. May throw std::bad_alloc. About 30 bytes a term.
  explicit TermLetters(std::string_view bytes);

  // Of which bytes it was made: terms that begin from here on it does not know.
  [[nodiscard]] size_t n_bytes() const noexcept { return n_bytes_; }
  // Calls visit(term) for each term that holds `letters`, in the order of the dictionary. `letters`: kTogether or more.
  // `bytes`: those that it was made of; others may have been added behind them.
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
      begins_;  // of each group of letters, among the places; and where the last one ends
  std::unique_ptr<uint32_t[]> places_;  // of the length bytes of its terms, ascending, some twice
};

// The same by a look through bytes [from, size) of all terms, for letters of any number and kind.
void find_in_terms(std::string_view letters, std::string_view bytes, size_t from,
                   const std::function<void(std::string_view)>& visit);

}  // namespace scrubjay::lexical
