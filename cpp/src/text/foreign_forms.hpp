// Foreign forms: irregular word forms of languages other than English, for the analyzers of those languages.
//
// fuhr is a form of fahren, Bücher of Buch, dijo of decir, but Snowball's stemmers give them different stems.
// As with word_forms.hpp, a query is expanded by the forms that its scope knows; the index does not change.
// Reference: tests/reference/foreign_forms.py.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/analyzer.hpp"

namespace scrubjay::text {

class ForeignForms {
 public:
  // Returns the forms of the language of the analyzer's Snowball stemmer, or null if there is no table for
  // it. The first call makes the table in about a millisecond; it is never destroyed. Thread-safe.
  [[nodiscard]] static const ForeignForms* of(const Analyzer& analyzer);

  // Whether the term with this key may have other forms; may give false positives. Cheap.
  [[nodiscard]] bool may_hold(uint64_t key) const noexcept {
    const size_t bit = bit_of(key);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  // The terms of the other forms, ascending by bytes.
  [[nodiscard]] std::span<const std::string> others(std::string_view term) const;

 private:
  static constexpr size_t kBits = 32768;

  ForeignForms(const Analyzer& analyzer, std::string_view language, std::string_view groups);
  void add(const Analyzer& analyzer, const std::vector<std::string>& words);
  [[nodiscard]] static size_t bit_of(uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15ull) >> 49; }

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view term) const noexcept { return std::hash<std::string_view>()(term); }
  };
  std::array<uint64_t, kBits / 64> bits_{};
  std::unordered_map<std::string, std::vector<std::string>, Hash, std::equal_to<>> others_;
};

}  // namespace scrubjay::text
