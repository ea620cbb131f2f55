// Classes of the module: the one way to export one.
//
// An object whose __init__ never ran (T.__new__(T), a subclass that does not call super().__init__()) has no
// C++ object behind it. pybind11 would allocate memory for one and hand that out unset, as `self` and as an
// argument; here it raises TypeError instead.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace scrubjay::bindings {

template <class T>
class Uninitialised {
 public:
  template <class... Options>
  static void refuse(const pybind11::class_<T, Options...>& type, const char* name) {
    name_ = name;
    pybind11::detail::get_type_info(reinterpret_cast<PyTypeObject*>(type.ptr()))->operator_new = &allocate;
  }
  [[noreturn]] static void raise() {
    throw pybind11::type_error(std::string(name_) + ": __init__() was not called on this object");
  }

 private:
  // Where pybind11 asks for the memory of an object that is not there.
  static void* allocate(size_t) { raise(); }

  static inline const char* name_ = "";
};

// pybind11::class_<T, Options...>(module, name, documentation, extra...), without unset memory.
template <class T, class... Options, class... Extra>
[[nodiscard]] pybind11::class_<T, Options...> export_class(pybind11::module_& module, const char* name,
                                                           const char* documentation, const Extra&... extra) {
  pybind11::class_<T, Options...> type(module, name, documentation, extra...);
  Uninitialised<T>::refuse(type, name);
  return type;
}

}  // namespace scrubjay::bindings
