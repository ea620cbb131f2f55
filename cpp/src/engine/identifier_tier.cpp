#include "engine/identifier_tier.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/quantities.hpp"

namespace scrubjay::engine {
namespace {

constexpr double kAlwaysRare = 5.0;
constexpr double kRareShare = 0.005;
constexpr double kMostly = 2.0 / 3.0;

bool has_digit(std::string_view term) noexcept {
  return std::any_of(term.begin(), term.end(), [](char c) { return c >= '0' && c <= '9'; });
}
bool contains(std::string_view term, std::string_view inner) noexcept {
  return term.find(inner) != std::string_view::npos;
}

// Whether the term is three numbers, the first or last of four digits, the others of one or
// two: 2023-04-20, 10.1.2024.
bool is_date(std::string_view term) noexcept {
  std::array<size_t, 3> n_digits{};
  size_t group = 0;
  for (const char c : term) {
    if (c >= '0' && c <= '9') {
      ++n_digits[group];
    } else if (!contains("-./", std::string_view(&c, 1)) || ++group == n_digits.size()) {
      return false;
    }
  }
  const auto is_short = [](size_t n) { return n == 1 || n == 2; };
  return is_short(n_digits[1]) &&
         ((n_digits[0] == 4 && is_short(n_digits[2])) || (is_short(n_digits[0]) && n_digits[2] == 4));
}

void strip(std::string_view term, std::string& out) {
  out = term;
  std::erase_if(out, is_joiner);
}

// Finds the identifiers of one query.
class Finder {
 public:
  Finder(std::span<const lexical::TermCount> terms, std::span<const uint64_t> dfs, QueryIdentifiers& out)
      : terms_(terms), dfs_(dfs), out_(out) {}

  [[nodiscard]] uint32_t term_of(const text::Token& token) const {
    const auto at = std::find_if(terms_.begin(), terms_.end(), [&](const lexical::TermCount& term) {
      return term.key == token.key && term.term == token.term;
    });
    return static_cast<uint32_t>(at - terms_.begin());
  }

  // Fills `names_any`, `any_form` and `written`.
  void find_any_form(std::span<const text::Token> tokens) {
    out_.names_any = false;
    out_.any_form.clear();
    out_.written.clear();
    for (const text::Token& token : tokens) {
      if (token.kind != text::TokenKind::whole && token.kind != text::TokenKind::word) continue;
      if (!has_digit(token.term) || is_quantity(token.term) || is_date(token.term)) continue;
      out_.names_any = true;
      out_.written.emplace_back(token.term);
    }
    std::sort(out_.written.begin(), out_.written.end(), [](const std::string& a, const std::string& b) {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    // A question may repeat an identifier thousands of times.
    out_.written.erase(std::unique(out_.written.begin(), out_.written.end()), out_.written.end());
    find_forms_of_written(tokens);
    size_t n_written = 0;  // longest first: a part of a removed identifier is also a part of a remaining one
    for (size_t i = 0; i < out_.written.size(); ++i) {
      const auto kept = out_.written.begin() + static_cast<std::ptrdiff_t>(n_written);
      const bool inner = std::any_of(out_.written.begin(), kept, [&](const std::string& longer) {
        return is_part_of(out_.written[i], longer);
      });
      if (!inner) std::swap(out_.written[n_written++], out_.written[i]);
    }
    out_.written.resize(n_written);
  }

  // Fills `any_form` with the terms that are forms of an identifier in `written`.
  void find_forms_of_written(std::span<const text::Token> tokens) {
    std::vector<std::string>& stripped = out_.written_stripped;
    stripped.resize(out_.written.size());
    for (size_t i = 0; i < stripped.size(); ++i) strip(out_.written[i], stripped[i]);
    std::sort(stripped.begin(), stripped.end());
    if (stripped.empty()) return;
    for (uint32_t t = 0; t < terms_.size(); ++t) {
      strip(terms_[t].term, form_);
      if (!std::binary_search(stripped.begin(), stripped.end(), form_)) continue;
      const bool is_form = std::any_of(tokens.begin(), tokens.end(), [&](const text::Token& token) {
        return token.kind != text::TokenKind::part && token.key == terms_[t].key &&
               token.term == terms_[t].term;
      });
      if (is_form) out_.any_form.push_back(t);
    }
  }

  // Fills `known`.
  void find_known(std::span<const text::Token> tokens) {
    out_.known.clear();
    for (const text::Token& token : tokens) {
      if (token.kind != text::TokenKind::whole &&
          (token.kind == text::TokenKind::part || !has_digit(token.term)))
        continue;
      const uint32_t t = term_of(token);
      if (dfs_[t] != 0) out_.known.push_back(t);
    }
    std::sort(out_.known.begin(), out_.known.end());
    out_.known.erase(std::unique(out_.known.begin(), out_.known.end()), out_.known.end());
  }

  // Whether known identifiers and the terms inside them have most of the query's idf.
  [[nodiscard]] bool mostly_about_them(const lexical::Weighting& weighting) const {
    double inside = 0.0, total = 0.0;
    for (size_t t = 0; t < terms_.size(); ++t) {
      const double mass = terms_[t].count * weighting.idf_of(t);
      total += mass;
      if (std::any_of(out_.known.begin(), out_.known.end(),
                      [&](uint32_t known) { return contains(terms_[known].term, terms_[t].term); }))
        inside += mass;
    }
    return total > 0.0 && inside / total >= kMostly;
  }

  void judge_forms(std::span<const text::Token> tokens, bool mostly) {
    const size_t n = out_.known.size();
    if (out_.stripped.size() < n) out_.stripped.resize(n);
    for (size_t i = 0; i < n; ++i) strip(terms_[out_.known[i]].term, out_.stripped[i]);
    out_.exact.assign(n, mostly ? 1 : 0);
    if (mostly) return;
    // Tests the form written in the query, which joined forms do not show.
    for (const text::Token& token : tokens) {
      if (token.kind != text::TokenKind::whole &&
          (token.kind != text::TokenKind::word || !has_digit(token.term)))
        continue;
      if (is_quantity(token.term)) continue;
      strip(token.term, written_);
      for (size_t i = 0; i < n; ++i) {
        if (out_.stripped[i] == written_) out_.exact[i] = 1;
      }
    }
  }

  void choose_members(bool mostly, double limit) {
    out_.rare.clear();
    for (const uint32_t t : out_.known) {
      if (static_cast<double>(dfs_[t]) <= limit) out_.rare.push_back(t);
    }
    // Each is compared with all others before any is removed: of a chain of containments the longest remains.
    for (const uint32_t t : out_.rare) {
      const std::string_view term = terms_[t].term;
      const bool inner = std::any_of(out_.rare.begin(), out_.rare.end(), [&](uint32_t other) {
        return other != t && contains(terms_[other].term, term);
      });
      if (!inner && (mostly || has_digit(term)) && out_.exact[place_of(t)] != 0) out_.members.push_back(t);
    }
  }

  // For each identifier of the text, chooses the longest form that occurs in a document, with
  // its other forms.
  void choose_named(std::span<const text::Token> tokens) {
    text::TokenKind before = text::TokenKind::word;
    bool wanted = false;
    for (const text::Token& token : tokens) {
      const bool is_whole = token.kind == text::TokenKind::whole;
      if (is_whole && before != text::TokenKind::whole) wanted = true;
      before = token.kind;
      if (is_whole ? !wanted : token.kind != text::TokenKind::word || !has_digit(token.term)) continue;
      const uint32_t t = term_of(token);
      if (dfs_[t] == 0) continue;
      if (is_whole) wanted = false;
      if (out_.exact[place_of(t)] != 0) add_named(t);
    }
  }

 private:
  [[nodiscard]] size_t place_of(uint32_t known) const {
    return static_cast<size_t>(std::lower_bound(out_.known.begin(), out_.known.end(), known) -
                               out_.known.begin());
  }
  void add_named(uint32_t t) {
    for (size_t i = 0; i < out_.n_named; ++i) {
      if (std::find(out_.named[i].begin(), out_.named[i].end(), t) != out_.named[i].end()) return;
    }
    if (out_.named.size() == out_.n_named) out_.named.emplace_back();
    std::vector<uint32_t>& forms = out_.named[out_.n_named++];
    forms.clear();
    const std::string& stripped = out_.stripped[place_of(t)];
    for (size_t i = 0; i < out_.known.size(); ++i) {
      if (out_.stripped[i] == stripped) forms.push_back(out_.known[i]);
    }
  }

  const std::span<const lexical::TermCount> terms_;
  const std::span<const uint64_t> dfs_;
  QueryIdentifiers& out_;
  std::string written_, form_;
};

}  // namespace

bool is_part_of(std::string_view identifier, std::string_view whole) noexcept {
  for (size_t at = whole.find(identifier); at != std::string_view::npos;
       at = whole.find(identifier, at + 1)) {
    const size_t end = at + identifier.size();
    if ((at == 0 || is_joiner(whole[at - 1])) && (end == whole.size() || is_joiner(whole[end]))) return true;
  }
  return false;
}

double rare_limit(uint64_t n_docs) noexcept {
  return std::max(kAlwaysRare, kRareShare * static_cast<double>(n_docs));
}

void find_identifiers(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                      std::span<const uint64_t> dfs, const lexical::Weighting& weighting, uint64_t n_docs,
                      QueryIdentifiers& out) {
  out.members.clear();
  out.n_named = 0;
  Finder finder(terms, dfs, out);
  finder.find_known(tokens);
  if (out.known.empty()) return;
  const bool mostly = finder.mostly_about_them(weighting);
  finder.judge_forms(tokens, mostly);
  finder.choose_members(mostly, rare_limit(n_docs));
  finder.choose_named(tokens);
}

void find_any_form(std::span<const text::Token> tokens, std::span<const lexical::TermCount> terms,
                   QueryIdentifiers& out) {
  Finder(terms, {}, out).find_any_form(tokens);
}

size_t rarest(const QueryIdentifiers& identifiers, std::span<const uint64_t> dfs) noexcept {
  const auto n_holders = [&](size_t i) {
    uint64_t n = 0;
    for (const uint32_t form : identifiers.named[i]) n += dfs[form];
    return n;
  };
  size_t best = 0;
  for (size_t i = 1; i < identifiers.n_named; ++i) {
    if (n_holders(i) < n_holders(best)) best = i;
  }
  return best;
}

}  // namespace scrubjay::engine
