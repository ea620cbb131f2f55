// BM25: the score of one term's occurrence in one document.
//
// Robertson and Zaragoza (2009), eq. 3.15, with Lucene's non-negative idf:
//     idf = ln(1 + (N - df + 0.5) / (df + 0.5))
//     norm(len) = k1 * ((1 - b) + b * len / avg)
//     contribution = idf * tf / (tf + norm)
// Each contribution is computed in single precision with IEEE multiply, add and divide, and rounded to fixed
// point (20 fractional bits, fewer if the query is so long that the sum could overflow); scores are sums of
// integers. Every order of evaluation and every SIMD level thus gives the same bits, and pruning bounds need
// no slack.
//
// Unless the caller sets them, k1 and b follow the average length of the visible documents: .4 and .2 up to
// 30 words, 1.2 and .75 from 60, linear between. A second occurrence and a few more words mean little in
// short turns, but much in long texts. Chosen from a small grid over ten judged sets (benchmarks/quality).
//
// The idf of a function word of the query (text/function_words.hpp) is at most that of a term in three of
// five documents: in a small scope "did" may be rare but carries no information. The idf of a function word
// of another language (text/foreign_function_words.hpp, text/japanese_function_words.hpp) is at most 0.1, that
// of a term in nine of ten. With both k1 and b given, every word follows the textbook formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lexical/posting.hpp"

namespace scrubjay::lexical {

struct Bm25Parameters {
  static constexpr double kByLength = -1.0;  // determined by the average length

  double k1 = kByLength;
  double b = kByLength;

  [[nodiscard]] bool is_textbook() const noexcept { return k1 != kByLength && b != kByLength; }

  [[nodiscard]] Bm25Parameters resolved(double average_length) const noexcept {
    constexpr double kShort = 30.0, kLong = 60.0;
    const double share = std::clamp((average_length - kShort) / (kLong - kShort), 0.0, 1.0);
    return {k1 == kByLength ? 0.4 + share * (1.2 - 0.4) : k1,
            b == kByLength ? 0.2 + share * (0.75 - 0.2) : b};
  }
};

// Upper bound on the idf of a function word: English, and of another language.
inline constexpr double kFunctionWordIdf = 0.5;
inline constexpr double kForeignWordIdf = 0.1;

// Worth of a compound or part that stands for another term, as a fraction of the lesser idf of the two.
inline constexpr double kPartIdf = 0.5;

// How the idf of a query term counts.
struct Worth {
  enum class Kind : uint8_t { full, function_word, foreign_word, form, part };
  Kind kind = Kind::full;
  uint32_t of = 0;  // form, part: index of the query term that it stands for

  [[nodiscard]] constexpr bool is_function_word() const noexcept {
    return kind == Kind::function_word || kind == Kind::foreign_word;
  }
};

// Totals over the visible, live documents of a search.
struct Statistics {
  uint64_t n_docs = 0;
  uint64_t total_length = 0;
};

[[nodiscard]] inline double idf(uint64_t n_docs, uint64_t df) noexcept {
  return std::log(1.0 + (static_cast<double>(n_docs) - static_cast<double>(df) + 0.5) /
                            (static_cast<double>(df) + 0.5));
}

// Rounds a non-negative number to the nearest integer, ties to even: floats from 2^23 on are integers.
[[nodiscard]] inline uint32_t rounded(float exact) noexcept {
  return static_cast<uint32_t>(exact < 0x1p23f ? (exact + 0x1p23f) - 0x1p23f : exact);
}

// At least 1, so that a score is positive exactly for matches.
[[nodiscard]] inline uint32_t contribution(float weight, uint32_t tf, float norm) noexcept {
  const float frequency = static_cast<float>(tf);
  return std::max(rounded((weight * frequency) / (frequency + norm)), 1u);
}

// The weights of one query: one per term, and one norm per length code.
class Weighting {
 public:
  static constexpr unsigned kFractionBits = 20;

  // `dfs[t]` and `counts[t]`: live document frequency, and occurrences in the query, of term t.
  // `max_length_code`: the greatest length code that will be looked up. `worths`: per term; empty: all count
  // in full.
  void prepare(const Bm25Parameters& parameters, const Statistics& statistics, std::span<const uint64_t> dfs,
               std::span<const uint32_t> counts, uint32_t max_length_code,
               std::span<const Worth> worths = {}) {
    idfs_.resize(dfs.size());
    weights_.resize(dfs.size());
    double total = 0.0;
    for (size_t t = 0; t < dfs.size(); ++t) {
      idfs_[t] = dfs[t] == 0 ? 0.0 : idf(statistics.n_docs, dfs[t]);
      total += static_cast<double>(counts[t]) * idfs_[t];
    }
    fraction_bits_ = kFractionBits;
    while (fraction_bits_ > 0 && std::ldexp(total, static_cast<int>(fraction_bits_)) >= 0x1p30)
      --fraction_bits_;
    unit_ = std::ldexp(1.0, -static_cast<int>(fraction_bits_));
    const double scale = std::ldexp(1.0, static_cast<int>(fraction_bits_));  // a power of two: exact
    greatest_score_ = static_cast<uint32_t>(total * scale);
    for (size_t t = 0; t < dfs.size(); ++t)
      weights_[t] = static_cast<float>((worths.empty() ? idfs_[t] : worth(t, worths)) * scale);
    prepare_norms(parameters, statistics, max_length_code);
  }

  [[nodiscard]] float weight(size_t term) const noexcept { return weights_[term]; }
  // The full idf, also of a function word.
  [[nodiscard]] double idf_of(size_t term) const noexcept { return idfs_[term]; }
  // The idf with which the term counts.
  [[nodiscard]] double worth(size_t term, std::span<const Worth> worths) const noexcept {
    const double term_idf = idfs_[term];
    const Worth& how = worths[term];
    if (how.kind == Worth::Kind::full) return term_idf;
    if (how.kind == Worth::Kind::function_word) return std::min(term_idf, kFunctionWordIdf);
    if (how.kind == Worth::Kind::foreign_word) return std::min(term_idf, kForeignWordIdf);
    const double whole = idfs_[how.of];
    const double lesser = whole > 0.0 ? std::min(term_idf, whole) : term_idf;
    return how.kind == Worth::Kind::form ? lesser : kPartIdf * lesser;
  }
  // Upper bound on the scores of the query, up to rounding.
  [[nodiscard]] uint32_t greatest_score() const noexcept { return greatest_score_; }
  [[nodiscard]] uint32_t max_length_code() const noexcept { return max_length_code_; }
  [[nodiscard]] const float* norms() const noexcept { return norms_.data(); }
  [[nodiscard]] double score(uint64_t fixed) const noexcept { return static_cast<double>(fixed) * unit_; }

 private:
  // The norms stay valid for consecutive queries in the same scope.
  void prepare_norms(const Bm25Parameters& given, const Statistics& statistics, uint32_t max_length_code) {
    const double average = statistics.n_docs == 0 ? 0.0
                                                  : static_cast<double>(statistics.total_length) /
                                                        static_cast<double>(statistics.n_docs);
    const Bm25Parameters parameters = given.resolved(average);
    if (!norms_.empty() && max_length_code == max_length_code_ && average == average_ &&
        parameters.k1 == parameters_.k1 && parameters.b == parameters_.b)
      return;
    norms_.clear();                           // so that a failed allocation leaves no stale norms
    norms_.resize(max_length_code + 1 + 16);  // a kernel may read one vector beyond
    const auto norm = [&](uint32_t length) {
      const double ratio = average > 0.0 ? static_cast<double>(length) / average : 0.0;
      return static_cast<float>(parameters.k1 * ((1.0 - parameters.b) + parameters.b * ratio));
    };
    const auto n_exact = static_cast<int>(std::min(max_length_code, kExactLength) + 1);
    for (int code = 0; code < n_exact; ++code)
      norms_[static_cast<uint32_t>(code)] = norm(static_cast<uint32_t>(code));
    for (uint32_t code = kExactLength + 1; code <= max_length_code; ++code)
      norms_[code] = norm(decode_length(code));
    max_length_code_ = max_length_code;
    average_ = average;
    parameters_ = parameters;
  }

  unsigned fraction_bits_ = kFractionBits;
  uint32_t max_length_code_ = 0;
  double average_ = 0.0;
  Bm25Parameters parameters_;
  double unit_ = 0.0;
  uint32_t greatest_score_ = 0;
  std::vector<double> idfs_;
  std::vector<float> weights_;
  std::vector<float> norms_;
};

}  // namespace scrubjay::lexical
