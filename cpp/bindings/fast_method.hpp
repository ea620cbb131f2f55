// FastMethod: a second entry to a method of Engine, for calls that are so short that
// pybind11's overhead matters.
//
// pybind11 builds a dict of the keyword arguments, probes it once per parameter and looks every type up: half
// a microsecond per call. This entry compares interned names instead. Unusual arguments go to pybind11's
// entry, which has the same signature and documentation; errors are translated by pybind11's translators, and
// no call is executed twice.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "instances.hpp"

namespace scrubjay::bindings {

// The data of one method's entry. Lives as long as the process.
class FastEntry {
 public:
  // Replaces pybind11's method of the class; `function` is a METH_FASTCALL | METH_KEYWORDS function.
  void install(pybind11::handle type, const char* name, std::span<const char* const> parameters,
               PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*));

  // Fills `values` with borrowed references by parameter, null for missing ones. Returns false for
  // an unusual call.
  [[nodiscard]] bool read(PyObject* const* arguments, size_t n_positional, PyObject* keywords,
                          std::span<PyObject*> values) const noexcept {
    for (size_t i = 0; i < n_positional; ++i) values[i] = arguments[i];
    const size_t n_keywords = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
    for (size_t i = 0; i < n_keywords; ++i) {
      const PyObject* name = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i));
      size_t parameter = 0;
      while (parameter < values.size() && names_[parameter] != name) ++parameter;
      if (parameter == values.size() || values[parameter]) return false;
      values[parameter] = arguments[n_positional + i];
    }
    return true;
  }
  // Calls pybind11's entry.
  [[nodiscard]] PyObject* call_slowly(PyObject* self, PyObject* const* arguments, size_t n_positional,
                                      PyObject* keywords) const;

 private:
  std::vector<PyObject*> names_;  // interned
  PyObject* slow_ = nullptr;
  std::string documentation_;
  PyMethodDef definition_{};
};

// The arguments of one call; None for missing ones.
template <size_t kN>
class FastArguments {
 public:
  explicit FastArguments(const std::array<PyObject*, kN>& given) : given_(given) {
    for (size_t i = 0; i < kN; ++i)
      objects_[i] = pybind11::reinterpret_borrow<pybind11::object>(given[i] ? given[i] : Py_None);
  }
  [[nodiscard]] const pybind11::object& operator[](size_t parameter) const noexcept {
    return objects_[parameter];
  }
  [[nodiscard]] bool has(size_t parameter) const noexcept { return given_[parameter] != nullptr; }

 private:
  const std::array<PyObject*, kN>& given_;
  std::array<pybind11::object, kN> objects_;
};

// `Method` has kName, kParameters (a std::array of names), kNPositional (number of positional parameters),
// kRequired (a bit mask) and
//   static pybind11::object call(engine::Engine&, const FastArguments<n>&);
// which returns null, without side effects, to leave a call to pybind11's entry.
template <class Method>
class FastMethod {
 public:
  static void install(pybind11::handle type) {
    entry_ = new FastEntry;
    entry_->install(type, Method::kName, Method::kParameters, &enter);
  }

 private:
  static constexpr size_t kN = Method::kParameters.size();

  static PyObject* enter(PyObject* self, PyObject* const* arguments, Py_ssize_t n, PyObject* keywords) {
    const auto n_positional = static_cast<size_t>(n);
    try {
      engine::Engine* engine = Instances<engine::Engine>::behind_self(self);
      std::array<PyObject*, kN> values{};
      if (engine && n_positional <= Method::kNPositional &&
          entry_->read(arguments, n_positional, keywords, values) && complete(values)) {
        pybind11::object result = Method::call(*engine, FastArguments<kN>(values));
        if (result) return result.release().ptr();
      }
      return entry_->call_slowly(self, arguments, n_positional, keywords);
    } catch (pybind11::error_already_set& error) {
      error.restore();
#if defined(__GLIBCXX__)
    } catch (abi::__forced_unwind&) {
      throw;
#endif
    } catch (...) {
      pybind11::detail::try_translate_exceptions();
    }
    return nullptr;
  }
  static bool complete(const std::array<PyObject*, kN>& values) noexcept {
    for (size_t i = 0; i < kN; ++i)
      if ((Method::kRequired >> i & 1u) && !values[i]) return false;
    return true;
  }

  static inline FastEntry* entry_ = nullptr;
};

}  // namespace scrubjay::bindings
