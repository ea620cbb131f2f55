#include "filter/language.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "filter/iso_time.hpp"

namespace scrubjay::filter {
namespace {

using Kind = Value::Kind;

constexpr const char* kOperators = "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $contains or $not";

// A printable form of a message: a field's name may contain any character, and what() ends at the
// first zero byte.
[[nodiscard]] std::string shown(const std::string& message) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(message.size());
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20) {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

[[noreturn]] void refuse_value(const std::string& message) { throw base::InvalidArgument(shown(message)); }
[[noreturn]] void refuse_type(const std::string& message) { throw base::WrongType(shown(message)); }

[[nodiscard]] std::string described(const Value& value) { return value.type_name() + " " + value.quoted(); }

[[noreturn]] void refuse_type(const std::string& where, const char* expected, const Value& value,
                              const char* hint = "") {
  refuse_type(where + ": expected " + expected + ", got " + described(value) + hint);
}

[[nodiscard]] bool is_time_field(const std::string& field) noexcept {
  return field == "created_at" || field == "expires_at";
}

// The position of an operand; formatted for messages only.
struct Clause {
  const std::string& field;
  std::string_view op;
  size_t item = SIZE_MAX;
  bool of_times = is_time_field(field);  // computed once for all values of an $in
  [[nodiscard]] std::string text() const {
    return field + "." + std::string(op) + (item == SIZE_MAX ? "" : "[" + std::to_string(item) + "]");
  }
};

// Rounds to the nearest microsecond, ties to even, like datetime.timedelta. Returns false for times outside
// the calendar.
[[nodiscard]] bool seconds_to_microseconds(const Value& operand, int64_t& microseconds) {
  constexpr double kFirst = -62135596800.0, kAfterLast = 253402300800.0;  // the years 1 and 10000
  const std::optional<double> seconds = operand.real();
  if (!seconds || !(*seconds >= kFirst && *seconds < kAfterLast - 1.0)) return false;
  double whole = 0.0;
  const double fraction = std::modf(*seconds, &whole);
  microseconds = static_cast<int64_t>(whole) * 1'000'000 + std::llrint(fraction * 1e6);
  return true;
}

// The values that `created_at` accepts: an ISO 8601 text, or seconds since 1970.
[[nodiscard]] int64_t time_of(const Clause& where, const Value& operand, Kind kind) {
  int64_t microseconds = 0;
  if (kind == Kind::text && parse_iso_time(operand.text(), microseconds)) return microseconds;
  if ((kind == Kind::integer || kind == Kind::real) && seconds_to_microseconds(operand, microseconds))
    return microseconds;
  return operand.as_time(where.text());
}

void add_number(Comparison comparison, const Clause& where, const Value& operand, Kind kind, Test& test) {
  if (kind == Kind::integer) {
    const std::optional<int64_t> number = operand.integer();
    if (!number) refuse_value(where.text() + ": expected an int of 64 bits, got " + operand.quoted());
    add_numbers(comparison, *number, test);
    return;
  }
  const double number = operand.real().value_or(std::nan(""));
  if (std::isnan(number)) refuse_value(where.text() + ": expected a number, got nan");
  add_numbers(comparison, number, test);
}

// Adds the values with this relation to the operand.
void add_value(Comparison comparison, const Clause& where, const Value& operand, Test& test) {
  const Kind kind = operand.kind();
  if (kind == Kind::boolean) {
    (operand.boolean() ? test.yes : test.no) = true;
  } else if (kind == Kind::time) {
    add_times(comparison, operand.time(), test);
  } else if (where.of_times) {
    add_times(comparison, time_of(where, operand, kind), test);
  } else if (kind == Kind::text) {
    add_strings(comparison, operand.text(), test);
  } else if (kind == Kind::integer || kind == Kind::real) {
    add_number(comparison, where, operand, kind, test);
  } else {
    refuse_type(where.text(), "a str, number, bool or datetime", operand,
                kind == Kind::null ? "; None is no value, ask with $exists" : "");
  }
}

[[nodiscard]] Test test_of(const std::string& field) {
  Test test;
  test.field = field;
  return test;
}

[[nodiscard]] Node negated(Node node) {
  Node negation;
  negation.kind = Node::Kind::negation;
  negation.children.push_back(std::move(node));
  return negation;
}

// A conjunction of one node is that node.
[[nodiscard]] Node alone(Node all) {
  if (all.children.size() != 1) return all;
  Node only = std::move(all.children[0]);
  return only;
}

void check_depth(const std::string& where, uint32_t depth) {
  if (depth + 2 >= Predicate::kMaxDepth)
    refuse_value(where.substr(0, 80) + "...: expected at most 60 levels of nesting");
}

class Compiler {
 public:
  [[nodiscard]] std::shared_ptr<const Predicate> compile(const Value& filter) {
    tests_.reserve(4);
    Node root = conditions(filter, "filter", 0);
    return std::make_shared<const Predicate>(std::move(tests_), std::move(root));
  }

 private:
  // {field: condition, "$and": [...], ...}: all must hold.
  [[nodiscard]] Node conditions(const Value& value, const std::string& where, uint32_t depth) {
    check_depth(where, depth);
    Node all;
    const auto add = [&](const Value& key, const Value& condition) {
      if (key.kind() != Kind::text) refuse_type(where + ": expected str keys, got " + described(key));
      const std::string name = key.text();
      if (name.empty() || name[0] != '$') {
        all.children.push_back(condition.kind() == Kind::object ? operators(name, condition, depth + 1)
                                                                : equality(name, condition));
      } else if (name == "$and" || name == "$or") {
        all.children.push_back(several(condition, where == "filter" ? name : where + "." + name,
                                       name == "$and" ? Node::Kind::all : Node::Kind::any, depth + 1));
      } else if (name == "$not") {
        all.children.push_back(negated(conditions(condition, where + ".$not", depth + 2)));
      } else {
        refuse_value(where + ": expected a field, $and, $or or $not, got " + key.quoted() +
                     (name == "$where"
                          ? "; only a search, a list and a count take functions, at the top or in $and"
                          : ""));
      }
    };
    if (!value.each_item(std::ref(add))) refuse_type(where, "a mapping of fields to conditions", value);
    return alone(std::move(all));
  }

  [[nodiscard]] Node several(const Value& value, const std::string& where, Node::Kind kind, uint32_t depth) {
    Node node;
    node.kind = kind;
    const auto add = [&](size_t i, const Value& element) {
      node.children.push_back(conditions(element, where + "[" + std::to_string(i) + "]", depth + 1));
    };
    if (!value.each_element(std::ref(add))) refuse_type(where, "a list of filters", value);
    return node;
  }

  // {operator: operand, ...}: all must hold.
  [[nodiscard]] Node operators(const std::string& field, const Value& condition, uint32_t depth) {
    check_depth(field, depth);
    Node all;
    bool empty = true;
    const auto add = [&](const Value& name, const Value& operand) {
      empty = false;
      add_operator(field, name, operand, depth, all);
    };
    if (!condition.each_item(std::ref(add)) || empty)
      refuse_value(field + ": expected a value or operators (" + kOperators + "), got {}");
    return alone(std::move(all));
  }

  void add_operator(const std::string& field, const Value& name, const Value& operand, uint32_t depth,
                    Node& all) {
    const std::string op = name.kind() == Kind::text ? name.text() : std::string();
    if (op == "$eq") {
      all.children.push_back(equality(field, operand));
    } else if (op == "$ne") {
      all.children.push_back(negated(equality(field, operand)));
    } else if (op == "$gt" || op == "$gte" || op == "$lt" || op == "$lte") {
      add_order(op, field, operand, all);
    } else if (op == "$in" || op == "$nin") {
      Node in = membership(op, field, operand);
      all.children.push_back(op == "$in" ? std::move(in) : negated(std::move(in)));
    } else if (op == "$exists") {
      if (operand.kind() != Kind::boolean) refuse_type(Clause{field, op}.text(), "a bool", operand);
      Test test = test_of(field);
      test.any = true;
      Node exists = leaf(std::move(test));
      all.children.push_back(operand.boolean() ? std::move(exists) : negated(std::move(exists)));
    } else if (op == "$contains") {
      if (operand.kind() != Kind::text)
        refuse_type(Clause{field, op}.text(), "a str", operand,
                    "; of a list its texts are found, nothing else");
      Test test = test_of(field);
      test.elements = true;
      test.strings.push_back(operand.text());
      all.children.push_back(leaf(std::move(test)));
    } else if (op == "$not") {
      if (operand.kind() != Kind::object)
        refuse_type(Clause{field, op}.text(), "a dict of operators", operand);
      all.children.push_back(negated(operators(field, operand, depth + 2)));
    } else {
      refuse_value(field + ": expected an operator (" + kOperators + "), got " + name.quoted());
    }
  }

  [[nodiscard]] Node leaf(Test test) {
    Node node;
    node.kind = Node::Kind::test;
    node.test = static_cast<uint32_t>(tests_.size());
    tests_.push_back(std::move(test));
    return node;
  }

  [[nodiscard]] Node equality(const std::string& field, const Value& operand) {
    Test test = test_of(field);
    add_value(Comparison::equal, {field, "$eq"}, operand, test);
    return leaf(std::move(test));
  }

  [[nodiscard]] Node membership(const std::string& op, const std::string& field, const Value& operand) {
    Test test = test_of(field);
    Clause where{field, op};
    const auto add = [&](size_t i, const Value& value) {
      where.item = i;
      add_value(Comparison::equal, where, value, test);
    };
    if (!operand.each_element(std::ref(add)))
      refuse_type(Clause{field, op}.text(), "a list of values", operand);
    test.members = !test.strings.empty();
    return leaf(std::move(test));
  }

  void add_order(const std::string& op, const std::string& field, const Value& operand, Node& all) {
    const Comparison comparison = op == "$gt"    ? Comparison::greater
                                  : op == "$gte" ? Comparison::at_least
                                  : op == "$lt"  ? Comparison::less
                                                 : Comparison::at_most;
    if (operand.kind() == Kind::boolean)
      refuse_type(Clause{field, op}.text() + ": expected a number, str or datetime, got bool " +
                  operand.quoted());
    Test test = test_of(field);
    add_value(comparison, {field, op}, operand, test);
    for (const Node& sibling : all.children) {  // {"$gte": a, "$lt": b} is one range
      if (sibling.kind == Node::Kind::test && intersect(test, tests_[sibling.test])) return;
    }
    all.children.push_back(leaf(std::move(test)));
  }

  std::vector<Test> tests_;
};

}  // namespace

std::shared_ptr<const Predicate> compile(const Value& filter) { return Compiler().compile(filter); }

}  // namespace scrubjay::filter
