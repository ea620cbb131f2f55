// Python objects for the filter language (filter/language.hpp), and sets of ids.
#include "filter.hpp"

#include <datetime.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "classes.hpp"
#include "convert.hpp"
#include "filter/iso_time.hpp"
#include "filter/language.hpp"
#include "filter/value.hpp"
#include "gil.hpp"
#include "sequences.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

// Same as str.encode("utf-8", "surrogatepass"): the form of texts in payloads.
std::string filter_text(py::handle text) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {bytes, static_cast<size_t>(size)};
  PyErr_Clear();
  return py::cast<std::string>(py::bytes(text.attr("encode")("utf-8", "surrogatepass")));
}

// Python's and NumPy's floats; no other types that could be converted.
bool is_float(py::handle value) {
  return PyFloat_Check(value.ptr()) ||
         std::string_view(Py_TYPE(value.ptr())->tp_name).substr(0, 11) == "numpy.float";
}

bool is_bool(py::handle value) {  // including NumPy's
  return PyBool_Check(value.ptr()) || std::string_view(Py_TYPE(value.ptr())->tp_name) == "numpy.bool" ||
         std::string_view(Py_TYPE(value.ptr())->tp_name) == "numpy.bool_";
}

// Whether the value is NaT of pandas: a datetime (of the year 1) that is not equal to itself.
bool is_no_time(PyObject* value) {
  if (PyDateTime_CheckExact(value) || PyDate_CheckExact(value)) return false;
  const auto unequal = py::reinterpret_steal<py::object>(PyObject_RichCompare(value, value, Py_NE));
  const int is_unequal = unequal ? PyObject_IsTrue(unequal.ptr()) : -1;
  if (is_unequal < 0) throw py::error_already_set();
  return is_unequal == 1;
}

// Microseconds since 1970 of a datetime (a naive one is UTC), or of a date: its midnight in UTC.
int64_t microseconds_of(py::handle moment) {
  PyObject* value = moment.ptr();
  const int year = PyDateTime_GET_YEAR(value), month = PyDateTime_GET_MONTH(value);
  // The day's number is computed by the parser that columns use, so there is one calendar.
  char date[16];
  std::snprintf(date, sizeof date, "%04d-%02d-%02d", year, month, PyDateTime_GET_DAY(value));
  int64_t microseconds = 0;
  (void)filter::parse_iso_time(date, microseconds);
  if (!PyDateTime_Check(value)) return microseconds;
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

// A Python object with the interface that the filter language reads.
class PythonValue final : public filter::Value {
 public:
  explicit PythonValue(py::handle value) : value_(value) {}

  [[nodiscard]] Kind kind() const override {
    PyObject* value = value_.ptr();
    if (PyUnicode_Check(value)) return Kind::text;
    if (PyLong_CheckExact(value)) return Kind::integer;  // the usual types are recognised first
    if (PyFloat_CheckExact(value)) return Kind::real;
    if (PyDict_Check(value)) return Kind::object;
    if (is_bool(value_)) return Kind::boolean;
    if (PyDate_Check(value)) return is_no_time(value) ? Kind::other : Kind::time;  // or a datetime
    if (PyIndex_Check(value) && !py::isinstance<py::array>(value_)) return Kind::integer;
    if (is_float(value_)) return Kind::real;
    return value_.is_none() ? Kind::null : Kind::other;
  }
  [[nodiscard]] bool boolean() const override { return PyObject_IsTrue(value_.ptr()) == 1; }
  [[nodiscard]] std::optional<int64_t> integer() const override {
    const auto integer = PyLong_CheckExact(value_.ptr())
                             ? py::reinterpret_borrow<py::object>(value_)
                             : py::reinterpret_steal<py::object>(PyNumber_Index(value_.ptr()));
    if (!integer) throw py::error_already_set();
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
    if (overflow != 0) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  [[nodiscard]] std::optional<double> real() const override {
    const double number = PyFloat_AsDouble(value_.ptr());
    if (!PyErr_Occurred()) return number;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw py::error_already_set();
    PyErr_Clear();
    return std::nullopt;
  }
  [[nodiscard]] int64_t time() const override { return microseconds_of(value_); }
  [[nodiscard]] std::string text() const override { return filter_text(value_); }

  // For a dict or another mapping.
  [[nodiscard]] bool each_item(const ItemVisitor& visit) const override {
    py::dict items;
    if (PyDict_Check(value_.ptr())) {
      items = py::reinterpret_borrow<py::dict>(value_);
    } else if (PyMapping_Check(value_.ptr()) && py::hasattr(value_, "keys")) {
      items = py::dict(py::reinterpret_borrow<py::object>(value_));
    } else {
      return false;
    }
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(items.ptr(), &at, &key, &value);) {
      // The callback may change the dict.
      const auto owned_key = py::reinterpret_borrow<py::object>(key),
                 owned_value = py::reinterpret_borrow<py::object>(value);
      visit(PythonValue(owned_key), PythonValue(owned_value));
    }
    return true;
  }
  // For a list, tuple, set, array or other sequence, except texts and mappings.
  [[nodiscard]] bool each_element(const ElementVisitor& visit) const override {
    if (!may_hold_values(value_)) return false;
    const auto elements = py::reinterpret_steal<py::tuple>(PySequence_Tuple(value_.ptr()));
    if (!elements) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
      PyErr_Clear();
      return false;
    }
    for (size_t i = 0; i < elements.size(); ++i)
      visit(i, PythonValue(PyTuple_GET_ITEM(elements.ptr(), static_cast<Py_ssize_t>(i))));
    return true;
  }

  [[nodiscard]] int64_t as_time(const std::string& where) const override {
    const py::str place = from_text(where);
    const py::object moment = py::module_::import("scrubjay.documents.payload").attr("to_utc")(value_, place);
    if (!PyDateTime_Check(moment.ptr()))
      throw base::WrongType(where + ": expected a time, got " + type_name() + " " + quoted());
    return microseconds_of(moment);
  }

  [[nodiscard]] std::string type_name() const override { return bindings::type_name(value_); }
  [[nodiscard]] std::string quoted() const override { return bindings::quoted(value_); }

 private:
  py::handle value_;
};

std::shared_ptr<const filter::Predicate> to_predicate(const py::object& value) {
  if (value.is_none()) return nullptr;
  if (PyDict_Check(value.ptr()))
    return PyDict_Size(value.ptr()) == 0 ? nullptr : filter::compile(PythonValue(value));
  if (py::isinstance<Filter>(value)) return py::cast<const Filter&>(value).predicate;
  return filter::compile(PythonValue(value));
}

// A pyroaring bitmap is taken as its bytes, an integer array without a Python object per id. nullopt for
// other values.
std::optional<filter::IdSet> to_integers(const py::object& value, const char* name) {
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
    expect_unmasked(value, name, "ids");
    const char kind = array.dtype().kind();
    if (kind == 'i' || (kind == 'u' && array.itemsize() < 8)) {
      const auto ids = py::array_t<int64_t, py::array::c_style | py::array::forcecast>::ensure(array);
      if (!ids) throw py::error_already_set();
      return filter::IdSet::of_integers({ids.data(), static_cast<size_t>(ids.size())});
    }
  }
  return std::nullopt;
}

}  // namespace

NamedDocuments::NamedDocuments(const py::object& value, const char* name) {
  if (value.is_none()) return;
  if (!PyByteArray_Check(value.ptr())) ids_ = to_integers(value, name);
  if (ids_) return;
  if (!may_hold_values(value))
    throw py::type_error(std::string(name) +
                         ": expected ids (a set, list, array, bitmap or other iterable), got " +
                         type_name(value));
  PyObject* converted = in_python([&] { return PySequence_Tuple(value.ptr()); });
  if (!converted) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    throw py::type_error(std::string(name) +
                         ": expected ids (a set, list, array, bitmap or other iterable), got " +
                         type_name(value));
  }
  items_ = py::reinterpret_steal<py::tuple>(converted);
  std::vector<int64_t> integers;
  std::vector<std::string_view> strings;
  for (size_t i = 0; i < items_.size(); ++i) {
    const engine::DocumentKey key = to_key(items_[i], at(name, i));
    const engine::Id& id = key.id;
    if (key.scope) {
      keys_.push_back(key);
    } else if (id.kind == engine::IdKind::integer) {
      integers.push_back(id.integer);
    } else {
      strings.push_back(id.string);
    }
    if (!integers.empty() && !strings.empty())
      throw py::type_error(std::string(name) + "[" + std::to_string(i) + "]: expected ids of one kind, got " +
                           (id.kind == engine::IdKind::integer ? "int after str" : "str after int"));
  }
  ids_ = strings.empty() ? filter::IdSet::of_integers(integers) : filter::IdSet::of_strings(strings);
}

engine::DocumentNames NamedDocuments::view() const noexcept {
  return {ids_ ? &*ids_ : nullptr, keys_.empty() ? nullptr : &keys_};
}

FilterArguments::FilterArguments(const py::object& filter, const py::object& ids, const py::object& exclude)
    : predicate_(to_predicate(filter)), ids_(ids, "ids"), exclude_(exclude, "exclude") {}

engine::DocumentFilter FilterArguments::view() const noexcept {
  return {predicate_.get(), ids_.view(), exclude_.view()};
}

void register_filter(py::module_& module) {
  PyDateTime_IMPORT;
  if (!PyDateTimeAPI) throw py::error_already_set();
  export_class<Filter>(
      module, "Filter",
      R"(A filter compiled once, for many searches; accepted wherever `filter` is. See scrubjay.filters.

Raises:
    TypeError, ValueError: the message names the field, the expected and the given value.

>>> from scrubjay import Filter
>>> Filter({"category": {"$in": ["keys", "infra"]}})
Filter({'category': {'$in': ['keys', 'infra']}}))")
      .def(py::init([](const py::object& conditions) {
             if (py::isinstance<Filter>(conditions)) return py::cast<Filter>(conditions);
             return Filter{filter::compile(PythonValue(conditions)),
                           py::cast<std::string>(py::repr(conditions))};
           }),
           py::arg("conditions"))
      .def_property_readonly(
          "admits_everything",
          [](const Filter& filter) { return filter::admits_everything(*filter.predicate); },
          R"(Whether every document is admitted whatever its fields are, as by {} and {"kind": {"$nin": []}}.)")
      .def("__repr__", [](const Filter& filter) { return "Filter(" + filter.text + ")"; });
}

}  // namespace scrubjay::bindings
