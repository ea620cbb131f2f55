#include "filter/predicate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/seeded_hash.hpp"

namespace scrubjay::filter {
namespace {

constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = -kGreatest;  // columns use INT64_MIN for "absent"

[[nodiscard]] bool below(Comparison c) noexcept { return c == Comparison::less || c == Comparison::at_most; }
[[nodiscard]] bool above(Comparison c) noexcept {
  return c == Comparison::greater || c == Comparison::at_least;
}

// Adds the column values in [least, greatest], if any.
void add_range(std::vector<Range>& ranges, int64_t least, int64_t greatest) {
  if (least <= greatest) ranges.push_back({std::max(least, kLeast), greatest});
}

// The position of an operand among the values of a column: between `under` (the greatest value < operand) and
// `over` (the least value > operand), and possibly on a value.
struct Place {
  bool on = false;
  int64_t at = 0;
  bool has_under = true, has_over = true;
  int64_t under = 0, over = 0;
};

void add_place(Comparison comparison, const Place& place, std::vector<Range>& ranges) {
  const int64_t under = place.has_under ? place.under : kLeast - 1, over = place.has_over ? place.over : 0;
  if (comparison == Comparison::equal) {
    if (place.on) add_range(ranges, place.at, place.at);
  } else if (below(comparison)) {
    const bool with = comparison == Comparison::at_most && place.on;
    if (with || place.has_under) add_range(ranges, kLeast, with ? place.at : under);
  } else if (above(comparison)) {
    const bool with = comparison == Comparison::at_least && place.on;
    if (with || place.has_over) add_range(ranges, with ? place.at : over, kGreatest);
  }
}

// Among integers in [kLeast, kGreatest].
[[nodiscard]] Place among_integers(int64_t operand) noexcept {
  Place place;
  place.on = operand >= kLeast;
  place.at = operand;
  place.has_under = operand > kLeast;
  place.under = operand - (place.has_under ? 1 : 0);
  place.has_over = operand < kGreatest;
  place.over = place.has_over ? operand + 1 : operand;
  return place;
}

[[nodiscard]] Place among_integers(double operand) noexcept {
  Place place;
  if (operand >= 0x1p63) {
    place.has_over = false;
    place.under = kGreatest;
    return place;
  }
  if (operand <= -0x1p63) {
    place.has_under = false;
    place.over = kLeast;
    return place;
  }
  const double floor = std::floor(operand);
  const auto whole = static_cast<int64_t>(floor);
  if (floor == operand) return among_integers(whole);
  place.under = whole;
  place.has_under = whole >= kLeast;
  place.over = whole + 1;
  return place;
}

// Among the finite reals.
[[nodiscard]] Place among_reals(double operand) noexcept {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Place place;
  place.on = std::isfinite(operand);
  place.at = sortable_real(operand);
  place.has_under = operand > -kMost;
  place.has_over = operand < kMost;
  // Both zeros are one value: the neighbours of -0.0 are those of 0.0.
  if (place.has_under) place.under = sortable_real(std::nextafter(operand + 0.0, -kInfinity));
  if (place.has_over) place.over = sortable_real(std::nextafter(operand + 0.0, kInfinity));
  return place;
}

[[nodiscard]] Place among_reals(int64_t operand) noexcept {
  const auto nearest = static_cast<double>(operand);  // the rounded value may be 2^63
  const bool exact = nearest < 0x1p63 && static_cast<int64_t>(nearest) == operand;
  Place place = among_reals(nearest);
  if (exact) return place;
  const bool too_great = nearest >= 0x1p63 || static_cast<int64_t>(nearest) > operand;
  place.on = false;
  (too_great ? place.over : place.under) = place.at;
  return place;
}

}  // namespace

namespace {

// Same as add_place(equal, ...) of both kinds, without the neighbours: an $in may have hundreds of values.
void add_equal(int64_t operand, Test& test) {
  if (operand >= kLeast) test.integers.push_back({operand, operand});
  const auto nearest = static_cast<double>(operand);
  if (nearest >= 0x1p63 || static_cast<int64_t>(nearest) != operand) return;
  const int64_t real = sortable_real(nearest);
  test.reals.push_back({real, real});
}

}  // namespace

bool StringRange::holds(std::string_view text) const noexcept {
  if (has_least) {
    const int order = text.compare(least);
    if (order < 0 || (order == 0 && least_open)) return false;
  }
  if (has_greatest) {
    const int order = text.compare(greatest);
    if (order > 0 || (order == 0 && greatest_open)) return false;
  }
  return true;
}

void add_numbers(Comparison comparison, int64_t operand, Test& test) {
  if (comparison == Comparison::equal) return add_equal(operand, test);
  add_place(comparison, among_integers(operand), test.integers);
  add_place(comparison, among_reals(operand), test.reals);
}
void add_numbers(Comparison comparison, double operand, Test& test) {
  add_place(comparison, among_integers(operand), test.integers);
  add_place(comparison, among_reals(operand), test.reals);
}
void add_times(Comparison comparison, int64_t microseconds, Test& test) {
  add_place(comparison, among_integers(microseconds), test.times);
}
void add_strings(Comparison comparison, std::string operand, Test& test) {
  if (comparison == Comparison::equal) {
    test.strings.push_back(std::move(operand));
    return;
  }
  StringRange range;
  if (above(comparison)) {
    range.has_least = true;
    range.least_open = comparison == Comparison::greater;
    range.least = std::move(operand);
  } else {
    range.has_greatest = true;
    range.greatest_open = comparison == Comparison::less;
    range.greatest = std::move(operand);
  }
  test.string_ranges.push_back(std::move(range));
}

namespace {

[[nodiscard]] bool only_ranges(const Test& test) noexcept {
  return !test.any && !test.elements && !test.yes && !test.no && test.strings.empty() &&
         test.string_ranges.size() <= 1 && test.integers.size() <= 1 && test.reals.size() <= 1 &&
         test.times.size() <= 1;
}

void intersect(const std::vector<Range>& others, std::vector<Range>& ranges) {
  if (others.empty()) ranges.clear();
  if (ranges.empty()) return;
  ranges[0].least = std::max(ranges[0].least, others[0].least);
  ranges[0].greatest = std::min(ranges[0].greatest, others[0].greatest);
  if (ranges[0].least > ranges[0].greatest) ranges.clear();
}

}  // namespace

bool intersect(const Test& other, Test& test) {
  if (test.field != other.field || !only_ranges(test) || !only_ranges(other)) return false;
  // An ISO 8601 text is a text and a time, so one document can pass a test of each; all other types are
  // mutually exclusive.
  if (test.times.empty() != other.times.empty() && test.string_ranges.empty() != other.string_ranges.empty())
    return false;
  if (!test.string_ranges.empty() && !other.string_ranges.empty()) {
    StringRange& range = test.string_ranges[0];
    const StringRange& more = other.string_ranges[0];
    if ((range.has_least && more.has_least) || (range.has_greatest && more.has_greatest)) return false;
    if (more.has_least) {
      range.has_least = true;
      range.least_open = more.least_open;
      range.least = more.least;
    } else {
      range.has_greatest = true;
      range.greatest_open = more.greatest_open;
      range.greatest = more.greatest;
    }
  } else {
    test.string_ranges.clear();
  }
  intersect(other.integers, test.integers);
  intersect(other.reals, test.reals);
  intersect(other.times, test.times);
  return true;
}

namespace {

// Approximate cost of a test per word of documents, for the order of a conjunction.
[[nodiscard]] uint32_t cost_of(const Test& test) noexcept {
  const size_t n_ranges = test.integers.size() + test.reals.size() + test.times.size();
  size_t cost = 1 + 4 * n_ranges + std::min<size_t>(test.strings.size(), 16) + 40 * test.string_ranges.size();
  if (test.any) cost += 12;
  if (test.elements || test.members) cost += 8;
  return static_cast<uint32_t>(std::min<size_t>(cost, 10'000));
}

void set_costs(const std::vector<Test>& tests, Node& node) {
  node.cost = node.kind == Node::Kind::test ? cost_of(tests[node.test]) : 1;
  for (Node& child : node.children) {
    set_costs(tests, child);
    node.cost += child.cost;
  }
  if (node.kind == Node::Kind::all) {
    std::stable_sort(node.children.begin(), node.children.end(),
                     [](const Node& a, const Node& b) { return a.cost < b.cost; });
  }
}

// Whether no document passes, as a test for one of no values.
[[nodiscard]] bool passes_nothing(const Test& test) noexcept {
  return !test.any && !test.yes && !test.no && test.strings.empty() && test.string_ranges.empty() &&
         test.integers.empty() && test.reals.empty() && test.times.empty();
}

// Whether the node has this value for every document, by its form.
[[nodiscard]] bool is_constant(const std::vector<Test>& tests, const Node& node, bool value) noexcept {
  const auto same = [&](const Node& child) { return is_constant(tests, child, value); };
  switch (node.kind) {
    case Node::Kind::test:
      return !value && passes_nothing(tests[node.test]);
    case Node::Kind::all:
      return value ? std::ranges::all_of(node.children, same) : std::ranges::any_of(node.children, same);
    case Node::Kind::any:
      return value ? std::ranges::any_of(node.children, same) : std::ranges::all_of(node.children, same);
    case Node::Kind::negation:
      return is_constant(tests, node.children[0], !value);
  }
  return false;
}

}  // namespace

Predicate::Predicate(std::vector<Test> tests, Node root) : tests_(std::move(tests)), root_(std::move(root)) {
  for (Test& test : tests_) test.field_hash = base::seeded_hash64(test.field);
  set_costs(tests_, root_);
}

bool admits_everything(const Predicate& predicate) noexcept {
  return is_constant(predicate.tests(), predicate.root(), true);
}

}  // namespace scrubjay::filter
