// Folding: removes case and accents from a word.
#pragma once

#include <string>
#include <string_view>

namespace scrubjay::text {

[[nodiscard]] bool is_ascii(std::string_view text) noexcept;

// Folds one word at a time in reusable buffers. The views are valid until the next call. Not thread-safe.
class Folder {
 public:
  // Full case folding, then NFKC; accents stay (stemmers of other languages need them). The argument must not
  // be a view of an earlier result.
  [[nodiscard]] std::string_view fold_case_only(std::string_view word);

  // Removes case and accents, in form NFKC. The argument may be a result of fold_case_only.
  [[nodiscard]] std::string_view fold(std::string_view word);

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  std::string cased_, buffer_, decomposed_, folded_;
};

}  // namespace scrubjay::text
