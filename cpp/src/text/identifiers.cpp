#include "text/identifiers.hpp"

#include <algorithm>
#include <array>

#include "text/characters.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMaxPieces = 8;  // a part with more pieces (a hash, base64) is not split
constexpr size_t kMaxDigitChanges =
    3;  // nor is one with more changes between letters and digits (hexadecimal)
constexpr size_t kMinJoinedDigits = 6;  // 555-1234 is also 5551234, but 5-10 is not 510

// The levels of an identifier, from the outside in: path segments; host and port; name and extension; parts.
constexpr std::array<std::string_view, 4> kLevels{"/", ":@#+", ".", "-_'"};

bool is_one_of(std::string_view joiner, std::string_view set) noexcept {
  return set.find(joiner[0]) != std::string_view::npos;
}

bool equals_folded(std::string_view word, std::string_view lower) noexcept {
  return word.size() == lower.size() &&
         std::equal(word.begin(), word.end(), lower.begin(), [](char a, char b) { return to_lower(a) == b; });
}

bool is_letter(std::string_view part) noexcept {
  return part.size() == 1 && (is_lower(part[0]) || is_upper(part[0]));
}

bool is_number(std::string_view part) noexcept { return std::all_of(part.begin(), part.end(), is_digit); }

// Length of the number in 20th or 1990s; 0 for anything else.
size_t number_with_ending(std::string_view part) noexcept {
  const size_t n = static_cast<size_t>(std::find_if_not(part.begin(), part.end(), is_digit) - part.begin());
  if (n == 0 || n == part.size()) return 0;
  for (const std::string_view ending : {"st", "nd", "rd", "th", "s"}) {
    if (equals_folded(part.substr(n), ending)) return n;
  }
  return 0;
}

// Visits the split positions of a part: where letters meet digits, where a capital follows a lower-case
// letter (camelCase), and before the last of several capitals (HTTPServer).
template <typename Visit>
void for_each_cut(std::string_view part, Visit visit) {
  for (size_t i = 1; i < part.size(); ++i) {
    // Never inside a non-ASCII character: its bytes are neither digits nor ASCII letters.
    if (is_digit(part[i - 1]) != is_digit(part[i])) {
      visit(i, true);
    } else if (is_upper(part[i]) && (is_lower(part[i - 1]) || (is_upper(part[i - 1]) && i + 1 < part.size() &&
                                                               is_lower(part[i + 1])))) {
      visit(i, false);
    }
  }
}

bool falls_into_pieces(std::string_view part) noexcept {
  size_t n_cuts = 0, n_digit_changes = 0;
  for_each_cut(part, [&](size_t, bool digit) {
    ++n_cuts;
    n_digit_changes += digit;
  });
  return n_cuts > 0 && n_digit_changes <= kMaxDigitChanges && n_cuts < kMaxPieces;
}

void cut_into_pieces(std::string_view part, std::vector<std::string_view>& out) {
  out.clear();
  if (is_acronym_plural(part)) {
    out.push_back(part);
  } else if (const size_t n = number_with_ending(part); n > 0) {
    out.push_back(part.substr(0, n));
  } else if (!falls_into_pieces(part)) {
    out.push_back(part);
  } else {
    size_t from = 0;
    for_each_cut(part, [&](size_t at, bool) {
      out.push_back(part.substr(from, at - from));
      from = at;
    });
    out.push_back(part.substr(from));
  }
}

// Whether the part has more than one piece.
bool is_composed(std::string_view part) noexcept {
  return !is_acronym_plural(part) && (number_with_ending(part) > 0 || falls_into_pieces(part));
}

bool is_clitic(std::string_view part) noexcept {
  for (const std::string_view clitic : {"s", "m", "re", "ve", "ll", "d"}) {
    if (equals_folded(part, clitic)) return true;
  }
  return false;
}

// U.S., e.g.
bool is_acronym(const Compound& compound) noexcept {
  return compound.parts.size() > 1 && std::all_of(compound.parts.begin(), compound.parts.end(), is_letter) &&
         std::all_of(compound.joiners.begin(), compound.joiners.end(),
                     [](std::string_view j) { return j == "."; });
}

// v2. at the start of a version
bool starts_with_version(std::string_view written) noexcept {
  size_t at = 1;
  while (at < written.size() && is_digit(written[at])) ++at;
  return (written[0] == 'v' || written[0] == 'V') && at > 1 && at < written.size() && written[at] == '.';
}

}  // namespace

bool joins(std::string_view joiners) noexcept {
  return joiners.size() == 1 || joiners == "::" ||
         std::all_of(joiners.begin(), joiners.end(), [](char c) { return c == '_'; });
}

// Adds the tokens of one compound to the draft.
class CompoundTokens::Adder {
 public:
  Adder(CompoundTokens& buffers, Compound& compound, TermMaker& terms, const TermRules& rules, Draft& draft)
      : buffers_(buffers), compound_(compound), terms_(terms), rules_(rules), draft_(draft) {}

  void run() {
    apply_apostrophes();
    const Range all{0, compound_.parts.size()};
    if (is_acronym(compound_)) {
      draft_.add(terms_.folded(written(all)), TokenKind::whole);
      add_word(joined(all), TokenKind::word);
    } else if (is_identifier(all)) {
      add_identifier(all);
    } else {
      for_each_group(all, "/:+#", [this](Range group) { add_plain(group); });
    }
  }

 private:
  // User's -> User, we'll -> we, don't -> dont; other apostrophes stay joiners, like hyphens.
  void apply_apostrophes() {
    auto& [parts, joiners, before, after] = compound_;
    buffers_.contractions_.clear();
    size_t n_bytes = 0;  // the views need a buffer that does not move
    for (const std::string_view part : parts) n_bytes += part.size();
    size_t i = 0;
    while (i < joiners.size()) {
      const std::string_view left = parts[i], right = parts[i + 1];
      if (joiners[i] == "'" && equals_folded(right, "t") && to_lower(left.back()) == 'n') {
        std::string& buffer = buffers_.contractions_;
        if (buffer.capacity() < 2 * n_bytes + 16) buffer.reserve(2 * n_bytes + 16);
        const size_t at = buffer.size();
        buffer.append(left).append(right);
        parts[i] = std::string_view(buffer).substr(at);
      } else if (joiners[i] != "'" || !is_clitic(right)) {
        ++i;
        continue;
      }
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(i) + 1);
      joiners.erase(joiners.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  template <typename Visit>
  void for_each_group(Range range, std::string_view separators, Visit visit) {
    size_t first = range.first;
    for (size_t i = range.first + 1; i < range.last; ++i) {
      if (!is_one_of(compound_.joiners[i - 1], separators)) continue;
      visit(Range{first, i});
      first = i;
    }
    visit(Range{first, range.last});
  }

  [[nodiscard]] bool is_all(Range range) const noexcept {
    return range.first == 0 && range.last == compound_.parts.size();
  }

  [[nodiscard]] bool has_joiner(Range range, std::string_view set) const noexcept {
    return n_joiners(range, set) > 0;
  }

  [[nodiscard]] size_t n_joiners(Range range, std::string_view set) const noexcept {
    size_t n = 0;
    for (size_t i = range.first; i + 1 < range.last; ++i) n += is_one_of(compound_.joiners[i], set);
    return n;
  }

  // A digit, an @, an _, inner capitals, a dotted name, or a path.
  [[nodiscard]] bool is_identifier(Range range) const noexcept {
    for (size_t i = range.first; i < range.last; ++i) {
      if (has_digit(compound_.parts[i]) || is_composed(compound_.parts[i])) return true;
    }
    for (size_t i = range.first; i + 1 < range.last; ++i) {
      if (compound_.joiners[i] == "::") return true;
    }
    const size_t n_slashes = n_joiners(range, "/");
    const bool rooted = is_all(range) && compound_.before.ends_with('/');
    return has_joiner(range, "@._") || n_slashes >= 2 || (n_slashes == 1 && rooted);
  }

  // Whether there is a form without joiners: not for one plain part or a path of words, for numbers only if
  // long and hyphenated.
  [[nodiscard]] bool may_join(Range range) const noexcept {
    if (range.last - range.first == 1) return is_composed(compound_.parts[range.first]);
    size_t n_digits = 0;
    bool numbers = true;
    for (size_t i = range.first; i < range.last; ++i) {
      numbers = numbers && is_number(compound_.parts[i]);
      n_digits += compound_.parts[i].size();
    }
    const size_t n_all = range.last - range.first - 1;
    if (numbers) return n_digits >= kMinJoinedDigits && n_joiners(range, "-_+#") == n_all;
    return is_identifier(range) || n_joiners(range, "-'") == n_all;
  }

  std::string_view written(Range range) {
    std::string& out = buffers_.written_;
    out.clear();
    for (size_t i = range.first; i < range.last; ++i) {
      out.append(compound_.parts[i]);
      if (i + 1 < range.last) out.append(compound_.joiners[i]);
    }
    return out;
  }

  std::string_view joined(Range range) {
    std::string& out = buffers_.joined_;
    out.clear();
    for (size_t i = range.first; i < range.last; ++i) out.append(compound_.parts[i]);
    return out;
  }

  void add_word(std::string_view text, TokenKind kind) { draft_.add(terms_.word(text, rules_), kind); }

  // #4711, @jane, C++, C#, 18+, __init__: adds the written form with adjacent joiners.
  void add_with_sigils(Range range, std::string_view before, std::string_view after) {
    const std::string_view first = before.ends_with('#') || before.ends_with('@')
                                       ? before.substr(before.size() - 1)
                                       : std::string_view();
    const size_t n_plus = std::min(after.find_first_not_of('+'), after.size());
    const size_t n_hash = std::min(after.find_first_not_of('#'), after.size());
    const std::string_view last = after.substr(0, n_plus == 1 || n_plus == 2 ? n_plus : n_hash == 1 ? 1 : 0);
    const bool dunder = before.ends_with("__") && after.starts_with("__");
    if (first.empty() && last.empty() && !dunder) return;
    const std::string whole(terms_.folded(written(range)));
    const auto add = [&](std::string_view left, std::string_view right) {
      buffers_.written_.assign(left).append(whole).append(right);
      draft_.add(buffers_.written_, TokenKind::whole);
    };
    if (!first.empty() || !last.empty()) add(first, last);
    if (!first.empty() && !last.empty()) add({}, last);
    if (dunder) add("__", "__");
  }

  // Words joined by hyphens or apostrophes only.
  void add_plain(Range group) {
    const size_t from = draft_.items().size();
    add_with_sigils(group, group.first == 0 ? compound_.before : std::string_view(),
                    group.last == compound_.parts.size() ? compound_.after : std::string_view());
    if (group.last - group.first == 1) {
      add_word(compound_.parts[group.first], TokenKind::word);
      return;
    }
    for (size_t i = group.first; i < group.last; ++i) add_word(compound_.parts[i], TokenKind::part);
    add_word(joined(group), TokenKind::joined);
    drop_repeats(from);
  }

  void add_identifier(Range all) {
    const size_t from = draft_.items().size();
    add_with_sigils(all, compound_.before, compound_.after);
    buffers_.ranges_.clear();
    collect_ranges(all, 0);
    for (size_t i = 0; i < buffers_.ranges_.size(); ++i) {
      const Range range = buffers_.ranges_[i];
      if (!is_identifier(range)) continue;
      const bool version = starts_with_version(written(range));
      const std::string_view whole = terms_.folded(buffers_.written_);
      draft_.add(whole, TokenKind::whole);
      if (version) draft_.add(whole.substr(1), TokenKind::whole);  // v2.1.3 is also 2.1.3
    }
    add_pieces(all);
    for (size_t i = 0; i < buffers_.ranges_.size(); ++i) {
      const Range range = buffers_.ranges_[i];
      if (may_join(range)) add_word(joined(range), TokenKind::joined);
    }
    drop_repeats(from);
  }

  void add_pieces(Range all) {
    size_t n_pieces = 0;
    for (size_t i = all.first; i < all.last; ++i) {
      cut_into_pieces(compound_.parts[i], buffers_.pieces_);
      n_pieces += buffers_.pieces_.size();
    }
    const TokenKind kind = n_pieces == 1 ? TokenKind::word : TokenKind::part;
    for (size_t i = all.first; i < all.last; ++i) {
      cut_into_pieces(compound_.parts[i], buffers_.pieces_);
      for (const std::string_view piece : buffers_.pieces_) add_word(piece, kind);
    }
  }

  // Preorder: the range, then the ranges into which the next applicable level divides it.
  void collect_ranges(Range range, size_t level) {
    buffers_.ranges_.push_back(range);
    for (; level < kLevels.size(); ++level) {
      if (!has_joiner(range, kLevels[level])) continue;
      for_each_group(range, kLevels[level], [this, level](Range group) { collect_ranges(group, level + 1); });
      return;
    }
  }

  // Keeps each form once, and drops those that equal a part. Exception: the joined form of an identifier with
  // digits stays even if it equals the whole form, so that E712 weighs as much as TS-712 (and more than the
  // words around it).
  void drop_repeats(size_t from) {
    const std::vector<Draft::Item>& items = draft_.items();
    // A copy, because `filter` compacts in place.
    std::vector<Draft::Item>& all = buffers_.items_;
    all.assign(items.begin() + static_cast<ptrdiff_t>(from), items.end());
    draft_.filter(from, [&](size_t i) {
      const Draft::Item& item = all[i - from];
      if (counts(item.kind)) return true;
      const std::string_view term = draft_.term(item);
      for (size_t other = 0; other < all.size(); ++other) {
        if (draft_.term(all[other]) != term) continue;
        if (counts(all[other].kind)) return false;
        if (all[other].kind == item.kind && other < i - from) return false;
        if (item.kind == TokenKind::joined && all[other].kind == TokenKind::whole && !has_digit(term))
          return false;
      }
      return true;
    });
  }

  CompoundTokens& buffers_;
  Compound& compound_;
  TermMaker& terms_;
  const TermRules& rules_;
  Draft& draft_;
};

void CompoundTokens::add(Compound& compound, TermMaker& terms, const TermRules& rules, Draft& draft) {
  Adder(*this, compound, terms, rules, draft).run();
}

size_t CompoundTokens::memory_bytes() const noexcept {
  return joined_.capacity() + written_.capacity() + contractions_.capacity() +
         pieces_.capacity() * sizeof(std::string_view) + ranges_.capacity() * sizeof(Range) +
         items_.capacity() * sizeof(Draft::Item);
}

}  // namespace scrubjay::text
