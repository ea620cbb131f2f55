#include "convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "gil.hpp"
#include "instances.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {

namespace {

// Null with a Python error set.
py::object index_of(py::handle value) {
  return py::reinterpret_steal<py::object>(in_python([&] { return PyNumber_Index(value.ptr()); }));
}

}  // namespace

std::string type_name(py::handle value) {
  return py::cast<std::string>(py::type::of(value).attr("__name__"));
}

static py::object repr_of(py::handle value) {
  PyObject* text = in_python([&] { return PyObject_Repr(value.ptr()); });
  if (!text) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(text);
}

std::string quoted(py::handle value) {
  std::string text = py::cast<std::string>(
      repr_of(value).attr("encode")("ascii", "backslashreplace").attr("decode")("ascii"));
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

engine::Id to_id(py::handle value, const std::string& name) {
  if (PyUnicode_Check(value.ptr())) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!bytes) {
      PyErr_Clear();
      throw py::value_error(name + ": expected text that UTF-8 can encode, got " + quoted(value) +
                            " with a lone surrogate");
    }
    if (size == 0) throw py::value_error(name + ": expected a non-empty str or an int, got ''");
    return engine::Id::of(std::string_view(bytes, static_cast<size_t>(size)));
  }
  if (PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr())) {
    const auto integer = index_of(value);
    if (!integer) {
      PyErr_Clear();
      throw py::type_error(name + ": expected a str or an int, got " + type_name(value) + " " +
                           quoted(value));
    }
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
    if (overflow != 0) throw py::value_error(name + ": expected an int of 64 bits, got " + quoted(value));
    return engine::Id::of(static_cast<int64_t>(number));
  }
  throw py::type_error(name + ": expected a str or an int, got " + type_name(value) + " " + quoted(value));
}

PyObject* new_id(const engine::Id& id) noexcept {
  return id.kind == engine::IdKind::integer ? PyLong_FromLongLong(id.integer) : new_text(id.string);
}

py::object from_id(const engine::Id& id) {
  PyObject* object = new_id(id);
  if (!object) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

std::string_view to_text(py::handle value, const std::string& name, py::object& keep) {
  if (PyUnicode_Check(value.ptr())) {
    keep = py::reinterpret_borrow<py::object>(value);
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!bytes) {  // lone surrogates: pairs are joined, others replaced
      PyErr_Clear();
      keep = value.attr("encode")("utf-16-le", "surrogatepass").attr("decode")("utf-16-le", "replace");
      bytes = PyUnicode_AsUTF8AndSize(keep.ptr(), &size);
      if (!bytes) throw py::error_already_set();
    }
    return {bytes, static_cast<size_t>(size)};
  }
  if (PyBytes_Check(value.ptr())) {
    keep = py::reinterpret_borrow<py::object>(value);
    return {PyBytes_AS_STRING(value.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(value.ptr()))};
  }
  throw py::type_error(name + ": expected str or bytes, got " + type_name(value));
}

namespace {

// Without a branch per word: texts are short, and most of them are entirely ASCII.
bool is_ascii(std::string_view text) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  const char* const at = text.data();
  const auto word = [&](size_t i) {
    uint64_t eight;
    std::memcpy(&eight, at + i, kWord);
    return eight;
  };
  const size_t n = text.size();
  uint64_t bits = 0;
  size_t i = 0;
  for (; i + 4 * kWord <= n; i += 4 * kWord)
    bits |= (word(i) | word(i + kWord)) | (word(i + 2 * kWord) | word(i + 3 * kWord));
  for (; i + kWord <= n; i += kWord) bits |= word(i);
  if (n >= kWord) {
    bits |= word(n - kWord);  // the rest, overlapping earlier words
  } else {
    for (; i < n; ++i) bits |= static_cast<unsigned char>(at[i]);
  }
  return (bits & 0x8080808080808080u) == 0;
}

}  // namespace

PyObject* new_text(std::string_view text) noexcept {
  const auto n = static_cast<Py_ssize_t>(text.size());
  // Python's decoder examines and copies eight characters per step, which took a third of the time of reading
  // a hit. For a single character Python has a cached object.
  if (n < 2 || !is_ascii(text)) return PyUnicode_DecodeUTF8(text.data(), n, "replace");
  PyObject* const string = PyUnicode_New(n, 127);
  if (string) std::memcpy(PyUnicode_1BYTE_DATA(string), text.data(), text.size());
  return string;
}

py::str from_text(std::string_view text) {
  PyObject* decoded = new_text(text);
  if (!decoded) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

void expect_unmasked(py::handle value, const std::string& name, const char* expected) {
  if (py::type::handle_of(value).ptr() ==
          reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_) ||
      !py::isinstance<py::array>(value))
    return;  // the usual class has no mask
  const py::object mask = py::getattr(value, "mask", py::none());
  if (mask.is_none()) return;
  const auto n_masked = in_python([&] { return py::cast<size_t>(mask.attr("sum")()); });
  if (n_masked != 0)
    throw py::value_error(name + ": expected " + expected + ", got " + type_name(value) + " with " +
                          std::to_string(n_masked) + " masked");
}

namespace {

// Rejects numbers beyond the range of float32, which NumPy would turn into infinities with a warning.
void expect_floats(const py::array& array, const std::string& name) {
  if (array.dtype().kind() != 'f' || array.itemsize() <= static_cast<py::ssize_t>(sizeof(float))) return;
  const auto doubles = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(array);
  if (!doubles) throw py::error_already_set();
  constexpr double kMost = std::numeric_limits<float>::max();
  for (py::ssize_t i = 0; i < doubles.size(); ++i) {
    const double number = doubles.data()[i];
    if (std::isfinite(number) && std::abs(number) > kMost) {
      throw py::value_error(name + ": expected numbers that a float32 holds, got " +
                            py::cast<std::string>(py::str(py::float_(number))));
    }
  }
}

FloatArray to_floats(py::handle value, const std::string& name, const char* expected) {
  const auto refuse = [&] {
    throw py::type_error(name + ": expected " + expected + ", got " + type_name(value));
  };
  expect_unmasked(value, name, expected);
  if (FloatArray::check_(value)) {  // no conversion needed: the usual case
    auto floats = py::reinterpret_borrow<FloatArray>(value);
    if (floats.size() != 0) return floats;
  }
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) refuse();
  py::array array;
  try {
    array = in_python([&] { return py::array::ensure(value); });
  } catch (const py::error_already_set&) {
    array = py::array();
  }
  PyErr_Clear();
  if (!array || array.size() == 0) {
    if (array && array.ndim() != 0)
      throw py::value_error(name + ": expected " + expected + ", got an empty one");
    refuse();
  }
  if (array.itemsize() == 1 && (PyByteArray_Check(value.ptr()) || PyMemoryView_Check(value.ptr())))
    refuse();  // as bytes: the numbers of a serialised vector are not its bytes
  const char kind = array.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u') {
    throw py::type_error(name + ": expected " + expected + ", got dtype " +
                         py::cast<std::string>(py::str(array.dtype())));
  }
  expect_floats(array, name);
  FloatArray floats = FloatArray::ensure(array);
  if (!floats) {
    PyErr_Clear();
    refuse();
  }
  return floats;
}

std::string shape_of(const FloatArray& array) {
  return py::cast<std::string>(py::str(py::object(array.attr("shape"))));
}

}  // namespace

FloatArray to_vector(py::handle value, const std::string& name) {
  FloatArray floats = to_floats(value, name, "a one-dimensional array of real numbers");
  if (floats.ndim() != 1)
    throw py::value_error(name + ": expected a one-dimensional array, got shape " + shape_of(floats));
  return floats;
}

py::object copied_vector(py::handle value, py::handle dim) {
  if (!py::isinstance<py::array_t<float, py::array::c_style>>(value) || !PyLong_CheckExact(dim.ptr()))
    return py::none();
  const auto floats = py::reinterpret_borrow<FloatArray>(value);
  if (floats.ndim() != 1 || floats.shape(0) != PyLong_AsSsize_t(dim.ptr())) return py::none();
  FloatArray copy(floats.shape(0));
  std::copy_n(floats.data(), floats.size(), copy.mutable_data());
  // The squared length checks everything at once: it is NaN, infinite or zero for invalid vectors.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> squares{};
  const std::span<const float> numbers = as_span(copy);
  size_t i = 0;
  for (; i + kLanes <= numbers.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) squares[lane] += numbers[i + lane] * numbers[i + lane];
  }
  for (; i < numbers.size(); ++i) squares[i % kLanes] += numbers[i] * numbers[i];
  float total = 0.0f;
  for (const float square : squares) total += square;
  if (!(total > 0.0f && total < std::numeric_limits<float>::max())) return py::none();
  return copy;
}

FloatArray to_matrix(py::handle value, const std::string& name) {
  FloatArray floats = to_floats(value, name, "a two-dimensional array of real numbers");
  if (floats.ndim() != 2)
    throw py::value_error(name + ": expected a two-dimensional array, got shape " + shape_of(floats));
  return floats;
}

namespace {

std::vector<vector::PassageSpan> to_spans(py::handle value, const std::string& name, size_t n) {
  std::vector<vector::PassageSpan> spans(n);
  if (value.is_none()) return spans;
  const auto array = py::array_t<int64_t, py::array::c_style | py::array::forcecast>::ensure(value);
  if (!array) PyErr_Clear();
  if (!array || array.ndim() != 2 || array.shape(1) != 2 || static_cast<size_t>(array.shape(0)) != n)
    throw py::value_error(name + ": expected (start, end) of each of " + std::to_string(n) + " passages");
  for (size_t i = 0; i < n; ++i) {
    const int64_t start = array.data()[2 * i], end = array.data()[2 * i + 1];
    if (start < 0 || end < start || end > int64_t{0xffffffff})
      throw py::value_error(name + ": expected 0 <= start <= end, got " + std::to_string(start) + ", " +
                            std::to_string(end));
    spans[i] = {static_cast<uint32_t>(start), static_cast<uint32_t>(end)};
  }
  return spans;
}

}  // namespace

DocumentVectors::DocumentVectors(py::handle value, const std::string& name) {
  const bool pair = PyTuple_Check(value.ptr()) && PyTuple_GET_SIZE(value.ptr()) == 2;
  const py::handle rows = pair ? PyTuple_GET_ITEM(value.ptr(), 0) : nullptr;
  if (!pair || !py::isinstance<py::array>(rows) || py::reinterpret_borrow<py::array>(rows).ndim() != 2) {
    floats = to_vector(value, name);
    return;
  }
  floats = to_matrix(rows, name);
  passages = to_spans(PyTuple_GET_ITEM(value.ptr(), 1), name, static_cast<size_t>(floats.shape(0)));
}

ScopePtr to_scope(py::handle value, const std::string& name) {
  if (!py::isinstance<engine::Scope>(value)) {
    throw py::type_error(name + ": expected a scrubjay.Scope, got " + type_name(value));
  }
  static_cast<void>(py::cast<const engine::Scope&>(value));  // raises if __init__ never ran
  return py::cast<std::shared_ptr<engine::Scope>>(value);
}

const engine::Scope& as_scope(py::handle value, const char* name) {
  if (const engine::Scope* scope = Instances<engine::Scope>::behind(value.ptr())) return *scope;
  return *to_scope(value, name);  // also owned by the Python object
}

size_t to_count(py::handle value, const std::string& name, size_t least) {
  if (!PyIndex_Check(value.ptr()) || PyBool_Check(value.ptr())) {
    throw py::type_error(name + ": expected an int, got " + type_name(value) + " " + quoted(value));
  }
  const auto integer = index_of(value);
  if (!integer) {  // an array that is not one int, for example
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    throw py::type_error(name + ": expected an int, got " + type_name(value) + " " + quoted(value));
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  constexpr long long kMost = 1ll << 62;
  if (overflow > 0 || number > kMost) return static_cast<size_t>(kMost);
  if (overflow < 0 || number < static_cast<long long>(least)) {
    throw py::value_error(name + ": expected an int >= " + std::to_string(least) + ", got " + quoted(value));
  }
  return static_cast<size_t>(number);
}

}  // namespace scrubjay::bindings
