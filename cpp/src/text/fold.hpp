// Folding: a word without case and accents.
#pragma once

#include <string>
#include <string_view>

namespace scrubjay::text {

[[nodiscard]] bool is_ascii(std::string_view text) noexcept;

// Folds words one after the other; keeps its buffers. The views are valid until the next call. Not
// thread-safe.
class Folder {
 public:
  // Full case folding, then NFKC; accents stay (a stemmer of another language needs them). Must not be given
  // views of its own results.
  [[nodiscard]] std::string_view fold_case_only(std::string_view word);

  // Case and accents away, in form NFKC. May be given the result of fold_case_only.
  [[nodiscard]] std::string_view fold(std::string_view word);

  [[nodiscard]] size_t memory_bytes() const noexcept;

 private:
  std::string cased_, buffer_, decomposed_, folded_;
};

}  // namespace scrubjay::text
