// From {"category": {"$in": [...]}} to a predicate. Every error names the field, what was expected and given.
#include "filter.hpp"

#include <datetime.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "convert.hpp"
#include "filter/iso_time.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using filter::Comparison;
using filter::Node;
using filter::Test;

constexpr const char* kOperators = "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $contains or $not";

// What str.encode("utf-8", "surrogatepass") gives: the form in which payloads hold text.
std::string filter_text(py::handle text) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {bytes, static_cast<size_t>(size)};
  PyErr_Clear();
  return py::cast<std::string>(py::bytes(text.attr("encode")("utf-8", "surrogatepass")));
}

// Python's and NumPy's ints and floats; nothing else that could be turned into a float.
bool is_real_number(py::handle value) {
  if (PyFloat_Check(value.ptr())) return true;
  if (std::string_view(Py_TYPE(value.ptr())->tp_name).substr(0, 11) == "numpy.float") return true;
  return PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr()) && !py::isinstance<py::array>(value);
}

bool is_bool(py::handle value) {  // NumPy's, too
  return PyBool_Check(value.ptr()) || std::string_view(Py_TYPE(value.ptr())->tp_name) == "numpy.bool" ||
         std::string_view(Py_TYPE(value.ptr())->tp_name) == "numpy.bool_";
}

// Microseconds since 1970 of a datetime; a naive one is in UTC.
int64_t microseconds_of(py::handle moment) {
  PyObject* value = moment.ptr();
  const int year = PyDateTime_GET_YEAR(value), month = PyDateTime_GET_MONTH(value);
  // The day's number through the parser that columns use: one calendar.
  char date[16];
  std::snprintf(date, sizeof date, "%04d-%02d-%02d", year, month, PyDateTime_GET_DAY(value));
  int64_t microseconds = 0;
  (void)filter::parse_iso_time(date, microseconds);
  const int64_t seconds = PyDateTime_DATE_GET_HOUR(value) * 3600 + PyDateTime_DATE_GET_MINUTE(value) * 60 +
                          PyDateTime_DATE_GET_SECOND(value);
  microseconds += seconds * 1'000'000 + PyDateTime_DATE_GET_MICROSECOND(value);
  if (PyDateTime_DATE_GET_TZINFO(value) == Py_None ||
      PyDateTime_DATE_GET_TZINFO(value) == PyDateTime_TimeZone_UTC)
    return microseconds;
  const py::object offset = moment.attr("utcoffset")();
  if (offset.is_none()) return microseconds;
  return microseconds - ((PyDateTime_DELTA_GET_DAYS(offset.ptr()) * int64_t{86400} +
                          PyDateTime_DELTA_GET_SECONDS(offset.ptr())) *
                             1'000'000 +
                         PyDateTime_DELTA_GET_MICROSECONDS(offset.ptr()));
}

// Where an operand stands; spelt out for messages only.
struct Place {
  const std::string& field;
  std::string_view op;
  size_t item = SIZE_MAX;
  [[nodiscard]] std::string text() const {
    return field + "." + std::string(op) + (item == SIZE_MAX ? "" : "[" + std::to_string(item) + "]");
  }
};

class Compiler {
 public:
  [[nodiscard]] std::shared_ptr<const filter::Predicate> compile(py::handle filter) {
    tests_.reserve(4);
    Node root = conditions(filter, "filter", 0);
    return std::make_shared<const filter::Predicate>(std::move(tests_), std::move(root));
  }

 private:
  // The items of a dict or another mapping.
  [[nodiscard]] static py::dict mapping(py::handle value, const std::string& where, const char* expected) {
    if (PyDict_Check(value.ptr())) return py::reinterpret_borrow<py::dict>(value);
    if (PyMapping_Check(value.ptr()) && py::hasattr(value, "keys"))
      return py::dict(py::reinterpret_borrow<py::object>(value));
    throw py::type_error(where + ": expected " + expected + ", got " + type_name(value) + " " +
                         quoted(value));
  }

  void check_depth(const std::string& where, uint32_t depth) const {
    if (depth + 2 >= filter::Predicate::kMaxDepth)
      throw py::value_error(where.substr(0, 80) + "...: expected at most 60 levels of nesting");
  }

  // {field: condition, "$and": [...], ...}: all of them.
  [[nodiscard]] Node conditions(py::handle value, const std::string& where, uint32_t depth) {
    check_depth(where, depth);
    const py::dict items = mapping(value, where, "a mapping of fields to conditions");
    Node all;
    for (const auto& [key, condition] : items) {
      if (!PyUnicode_Check(key.ptr()))
        throw py::type_error(where + ": expected str keys, got " + type_name(key) + " " + quoted(key));
      const std::string name = filter_text(key);
      if (name.empty() || name[0] != '$') {
        all.children.push_back(field_condition(name, condition, depth + 1));
      } else if (name == "$and" || name == "$or") {
        all.children.push_back(several(condition, where == "filter" ? name : where + "." + name,
                                       name == "$and" ? Node::Kind::all : Node::Kind::any, depth + 1));
      } else if (name == "$not") {
        all.children.push_back(negated(conditions(condition, where + ".$not", depth + 2)));
      } else {
        throw py::value_error(where + ": expected a field, $and, $or or $not, got " + quoted(key));
      }
    }
    return alone(std::move(all));
  }

  // A conjunction of one is that one.
  [[nodiscard]] static Node alone(Node all) {
    if (all.children.size() != 1) return all;
    Node only = std::move(all.children[0]);
    return only;
  }
  [[nodiscard]] static Node negated(Node node) {
    Node negation;
    negation.kind = Node::Kind::negation;
    negation.children.push_back(std::move(node));
    return negation;
  }

  [[nodiscard]] Node several(py::handle value, const std::string& where, Node::Kind kind, uint32_t depth) {
    Node node;
    node.kind = kind;
    const py::tuple filters = list_items(value, where, "a list of filters");
    for (size_t i = 0; i < filters.size(); ++i)
      node.children.push_back(conditions(filters[i], where + "[" + std::to_string(i) + "]", depth + 1));
    return node;
  }

  // A list, tuple, set, array or other sequence, but no text and no mapping.
  [[nodiscard]] static py::tuple list_items(py::handle value, const std::string& where,
                                            const char* expected) {
    const auto refuse = [&]() -> py::tuple {
      throw py::type_error(where + ": expected " + expected + ", got " + type_name(value) + " " +
                           quoted(value));
    };
    if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()) || PyDict_Check(value.ptr()))
      return refuse();
    PyObject* items = PySequence_Tuple(value.ptr());
    if (items) return py::reinterpret_steal<py::tuple>(items);
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    return refuse();
  }

  // field: value, or field: {operator: operand, ...}.
  [[nodiscard]] Node field_condition(const std::string& field, py::handle condition, uint32_t depth) {
    if (!PyDict_Check(condition.ptr())) return equality(field, condition);
    return operators(field, condition, depth);
  }

  [[nodiscard]] Node operators(const std::string& field, py::handle condition, uint32_t depth) {
    check_depth(field, depth);
    const auto items = py::reinterpret_borrow<py::dict>(condition);
    if (items.empty())
      throw py::value_error(field + ": expected a value or operators (" + kOperators + "), got {}");
    Node all;
    for (const auto& [name, operand] : items) {
      const std::string op = PyUnicode_Check(name.ptr()) ? filter_text(name) : std::string();
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
        if (!is_bool(operand))
          throw py::type_error(Place{field, op}.text() + ": expected a bool, got " + type_name(operand) +
                               " " + quoted(operand));
        Test test = test_of(field);
        test.any = true;
        Node exists = leaf(std::move(test));
        all.children.push_back(PyObject_IsTrue(operand.ptr()) == 1 ? std::move(exists)
                                                                   : negated(std::move(exists)));
      } else if (op == "$contains") {
        if (!PyUnicode_Check(operand.ptr()))
          throw py::type_error(Place{field, op}.text() + ": expected a str, got " + type_name(operand) + " " +
                               quoted(operand));
        Test test = test_of(field);
        test.elements = true;
        test.strings.push_back(filter_text(operand));
        all.children.push_back(leaf(std::move(test)));
      } else if (op == "$not") {
        if (!PyDict_Check(operand.ptr()))
          throw py::type_error(Place{field, op}.text() + ": expected a dict of operators, got " +
                               type_name(operand) + " " + quoted(operand));
        all.children.push_back(negated(operators(field, operand, depth + 2)));
      } else {
        throw py::value_error(field + ": expected an operator (" + kOperators + "), got " + quoted(name));
      }
    }
    return alone(std::move(all));
  }

  [[nodiscard]] static Test test_of(const std::string& field) {
    Test test;
    test.field = field;
    return test;
  }
  [[nodiscard]] Node leaf(Test test) {
    Node node;
    node.kind = Node::Kind::test;
    node.test = static_cast<uint32_t>(tests_.size());
    tests_.push_back(std::move(test));
    return node;
  }

  [[nodiscard]] Node equality(const std::string& field, py::handle operand) {
    Test test = test_of(field);
    add_value(Comparison::equal, {field, "$eq"}, operand, test);
    return leaf(std::move(test));
  }

  [[nodiscard]] Node membership(const std::string& op, const std::string& field, py::handle operand) {
    Test test = test_of(field);
    const py::tuple values = list_items(operand, Place{field, op}.text(), "a list of values");
    for (size_t i = 0; i < values.size(); ++i) add_value(Comparison::equal, {field, op, i}, values[i], test);
    return leaf(std::move(test));
  }

  void add_order(const std::string& op, const std::string& field, py::handle operand, Node& all) {
    const Comparison comparison = op == "$gt"    ? Comparison::greater
                                  : op == "$gte" ? Comparison::at_least
                                  : op == "$lt"  ? Comparison::less
                                                 : Comparison::at_most;
    if (is_bool(operand))
      throw py::type_error(Place{field, op}.text() + ": expected a number, str or datetime, got bool " +
                           quoted(operand));
    Test test = test_of(field);
    add_value(comparison, {field, op}, operand, test);
    for (const Node& sibling : all.children) {  // {"$gte": a, "$lt": b} is one range
      if (sibling.kind == Node::Kind::test && filter::intersect(test, tests_[sibling.test])) return;
    }
    all.children.push_back(leaf(std::move(test)));
  }

  [[nodiscard]] static bool is_time_field(const std::string& field) {
    return field == "created_at" || field == "expires_at";
  }

  // Lets the values pass that compare so with the operand.
  void add_value(Comparison comparison, const Place& where, py::handle operand, Test& test) {
    if (is_bool(operand)) {
      (PyObject_IsTrue(operand.ptr()) == 1 ? test.yes : test.no) = true;
    } else if (PyDateTime_Check(operand.ptr())) {
      filter::add_times(comparison, microseconds_of(operand), test);
    } else if (is_time_field(where.field)) {
      filter::add_times(comparison, time_of(where, operand), test);
    } else if (PyUnicode_Check(operand.ptr())) {
      filter::add_strings(comparison, filter_text(operand), test);
    } else if (is_real_number(operand)) {
      add_number(comparison, where, operand, test);
    } else {
      const char* hint = operand.is_none() ? "; None is no value, ask with $exists" : "";
      throw py::type_error(where.text() + ": expected a str, number, bool or datetime, got " +
                           type_name(operand) + " " + quoted(operand) + hint);
    }
  }

  // As datetime.timedelta has it: to the nearest microsecond, ties to even. False: no time of the calendar.
  [[nodiscard]] static bool seconds_to_microseconds(py::handle operand, int64_t& microseconds) {
    constexpr double kFirst = -62135596800.0, kAfterLast = 253402300800.0;  // the years 1 and 10000
    const double seconds = PyFloat_AsDouble(operand.ptr());
    if (PyErr_Occurred()) PyErr_Clear();
    if (!(seconds >= kFirst && seconds < kAfterLast - 1.0)) return false;
    double whole = 0.0;
    const double fraction = std::modf(seconds, &whole);
    microseconds = static_cast<int64_t>(whole) * 1'000'000 + std::llrint(fraction * 1e6);
    return true;
  }

  // What `created_at` accepts: an ISO 8601 text, or seconds since 1970.
  [[nodiscard]] static int64_t time_of(const Place& where, py::handle operand) {
    int64_t microseconds = 0;
    if (PyUnicode_Check(operand.ptr()) && filter::parse_iso_time(filter_text(operand), microseconds))
      return microseconds;
    if (is_real_number(operand) && seconds_to_microseconds(operand, microseconds)) return microseconds;
    const py::object moment = py::module_::import("scrubjay.payload").attr("to_utc")(operand, where.text());
    if (!PyDateTime_Check(moment.ptr()))
      throw py::type_error(where.text() + ": expected a time, got " + type_name(operand) + " " +
                           quoted(operand));
    return microseconds_of(moment);
  }

  static void add_number(Comparison comparison, const Place& where, py::handle operand, Test& test) {
    if (PyIndex_Check(operand.ptr())) {
      const auto integer = py::reinterpret_steal<py::object>(PyNumber_Index(operand.ptr()));
      if (!integer) throw py::error_already_set();
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
      if (overflow != 0)
        throw py::value_error(where.text() + ": expected an int of 64 bits, got " + quoted(operand));
      filter::add_numbers(comparison, static_cast<int64_t>(number), test);
      return;
    }
    const double number = PyFloat_AsDouble(operand.ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
    if (std::isnan(number)) throw py::value_error(where.text() + ": expected a number, got nan");
    filter::add_numbers(comparison, number, test);
  }

  std::vector<Test> tests_;
};

std::shared_ptr<const filter::Predicate> to_predicate(const py::object& value) {
  if (value.is_none()) return nullptr;
  if (PyDict_Check(value.ptr())) return PyDict_Size(value.ptr()) == 0 ? nullptr : Compiler().compile(value);
  if (py::isinstance<Filter>(value)) return py::cast<const Filter&>(value).predicate;
  return Compiler().compile(value);
}

// A pyroaring bitmap comes over as its bytes, an integer array without a Python object per id.
std::optional<filter::IdSet> to_id_set(const py::object& value, const char* name) {
  if (value.is_none()) return std::nullopt;
  const py::object type = py::type::of(value);
  const std::string module = py::cast<std::string>(py::str(type.attr("__module__")));
  if (module.rfind("pyroaring", 0) == 0 && py::hasattr(value, "serialize")) {
    const py::bytes bytes = value.attr("serialize")();
    return filter::IdSet::of_roaring(
        {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))},
        type_name(value).find("64") != std::string::npos);
  }
  if (py::isinstance<py::array>(value)) {
    const auto array = py::reinterpret_borrow<py::array>(value);
    if (array.ndim() != 1)
      throw py::value_error(std::string(name) + ": expected a one-dimensional array, got shape " +
                            py::cast<std::string>(py::str(py::object(array.attr("shape")))));
    const char kind = array.dtype().kind();
    if (kind == 'i' || (kind == 'u' && array.itemsize() < 8)) {
      const auto ids = py::array_t<int64_t, py::array::c_style | py::array::forcecast>::ensure(array);
      if (!ids) throw py::error_already_set();
      return filter::IdSet::of_integers({ids.data(), static_cast<size_t>(ids.size())});
    }
  }
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()) || PyDict_Check(value.ptr()))
    throw py::type_error(std::string(name) +
                         ": expected ids (a set, list, array, bitmap or other iterable), got " +
                         type_name(value));
  PyObject* converted = PySequence_Tuple(value.ptr());
  if (!converted) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    throw py::type_error(std::string(name) +
                         ": expected ids (a set, list, array, bitmap or other iterable), got " +
                         type_name(value));
  }
  const auto items = py::reinterpret_steal<py::tuple>(converted);
  std::vector<int64_t> integers;
  std::vector<std::string_view> strings;
  for (size_t i = 0; i < items.size(); ++i) {
    const engine::Id id = to_id(items[i], std::string(name) + "[" + std::to_string(i) + "]");
    if (id.kind == engine::IdKind::integer) {
      integers.push_back(id.integer);
    } else {
      strings.push_back(id.string);
    }
    if (!integers.empty() && !strings.empty())
      throw py::type_error(std::string(name) + "[" + std::to_string(i) + "]: expected ids of one kind, got " +
                           (id.kind == engine::IdKind::integer ? "int after str" : "str after int"));
  }
  return strings.empty() ? filter::IdSet::of_integers(integers) : filter::IdSet::of_strings(strings);
}

}  // namespace

FilterArguments::FilterArguments(const py::object& filter, const py::object& ids,
                                 const py::object& exclude_ids)
    : predicate_(to_predicate(filter)),
      ids_(to_id_set(ids, "ids")),
      exclude_ids_(to_id_set(exclude_ids, "exclude_ids")) {}

engine::DocumentFilter FilterArguments::view() const noexcept {
  return {predicate_.get(), ids_ ? &*ids_ : nullptr, exclude_ids_ ? &*exclude_ids_ : nullptr};
}

void register_filter(py::module_& module) {
  PyDateTime_IMPORT;
  if (!PyDateTimeAPI) throw py::error_already_set();
  py::class_<Filter>(
      module, "Filter",
      R"(A filter that is compiled once, for many searches; accepted wherever `filter` is. See scrubjay.filters.

Raises:
    TypeError, ValueError: the message names the field, what was expected and what was given.

>>> from scrubjay import Filter
>>> Filter({"category": {"$in": ["keys", "infra"]}})
Filter({'category': {'$in': ['keys', 'infra']}}))")
      .def(py::init([](const py::object& conditions) {
             if (py::isinstance<Filter>(conditions)) return py::cast<Filter>(conditions);
             return Filter{Compiler().compile(conditions), py::cast<std::string>(py::repr(conditions))};
           }),
           py::arg("conditions"))
      .def("__repr__", [](const Filter& filter) { return "Filter(" + filter.text + ")"; });
}

}  // namespace scrubjay::bindings
