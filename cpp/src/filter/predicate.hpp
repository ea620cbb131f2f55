// Predicate: a compiled filter, which selects documents of a chunk.
//
// A tree of tests over fields, compiled once (language.hpp) and immutable. A document passes a test if the
// value of its field is one of those in the test; a document without the field, or with a value of another
// type, fails. Negation is plain: a document that fails a test passes its negation. Evaluation processes the
// columns of a chunk, 64 documents per word, the cheapest test of a conjunction first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter/columns.hpp"
#include "filter/range.hpp"
#include "filter/value_set.hpp"

namespace scrubjay::filter {

struct StringRange {
  std::string least, greatest;
  bool has_least = false, least_open = false;
  bool has_greatest = false, greatest_open = false;
  [[nodiscard]] bool holds(std::string_view text) const noexcept;
};

// The values that pass, by type.
struct Test {
  std::string field;
  uint64_t field_hash = 0;
  bool any = false;       // any value passes
  bool elements = false;  // the strings below are looked for in lists only
  bool members = false;   // the strings below are looked for in lists, too
  bool yes = false, no = false;
  std::vector<std::string> strings;
  std::vector<StringRange> string_ranges;
  std::vector<Range> integers, reals, times;
};

// Adds all numbers x with `x op operand`, compared exactly like Python integers and reals, as ranges of
// column values.
enum class Comparison : uint8_t { equal, less, at_most, greater, at_least };
void add_numbers(Comparison comparison, int64_t operand, Test& test);
void add_numbers(Comparison comparison, double operand, Test& test);  // not NaN
void add_times(Comparison comparison, int64_t microseconds, Test& test);
void add_strings(Comparison comparison, std::string operand, Test& test);

// If both tests are of the same field with at most one range per type, stores their conjunction in `test` and
// returns true.
bool intersect(const Test& other, Test& test);

struct Node {
  enum class Kind : uint8_t { test, all, any, negation };
  Kind kind = Kind::all;
  uint32_t test = 0;  // index into the predicate's tests
  uint32_t cost = 0;
  std::vector<Node> children;  // of a negation: exactly one
};

class Predicate {
 public:
  static constexpr uint32_t kMaxDepth = 64;

  // The root must be at most kMaxDepth levels deep.
  Predicate(std::vector<Test> tests, Node root);

  [[nodiscard]] const std::vector<Test>& tests() const noexcept { return tests_; }
  [[nodiscard]] const Node& root() const noexcept { return root_; }

 private:
  std::vector<Test> tests_;
  Node root_;
};

// Whether every document is admitted whatever its fields are, as by {} and {"kind": {"$nin": []}}.
[[nodiscard]] bool admits_everything(const Predicate& predicate) noexcept;

// Buffers of evaluations; one per thread.
class Evaluation {
 public:
  // Writes the bits of the admitted documents among the first n_docs to `out`, (n_docs + 63) / 64 words; bits
  // past the end are zero. `columns` is null if no document has an attribute.
  void run(const Predicate& predicate, const Columns* columns, uint32_t n_docs, uint64_t* out);

 private:
  void evaluate(const Node& node, uint32_t depth, uint64_t* out);
  void add_test(const Test& test, uint64_t* out);
  void add_ranges(const Track<int64_t>& track, const std::vector<Range>& ranges, uint64_t* out);
  [[nodiscard]] const uint32_t* set_of_codes();
  void add_codes(const Test& test, const Column& column, uint64_t* out);
  void add_elements(const Test& test, const Column& column, uint64_t* out);
  void add_spilled(const Test& test, const Column& column, uint64_t* out);
  [[nodiscard]] uint64_t* buffer(uint32_t depth);

  const Predicate* predicate_ = nullptr;
  const Columns* columns_ = nullptr;
  uint32_t n_docs_ = 0, n_words_ = 0;
  std::vector<std::vector<uint64_t>> buffers_;
  std::vector<uint16_t> codes_;
  std::vector<uint32_t> set_;
  ValueSet values_;
  std::vector<uint64_t> rows_;
};

}  // namespace scrubjay::filter
