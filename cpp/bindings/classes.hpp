// Classes of the module: the only way to export a class.
//
// An object whose __init__ never ran (T.__new__(T), a subclass that does not call super().__init__()) has no
// C++ object. pybind11 would allocate uninitialised memory for it and pass that on, as `self` and as an
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
  // pybind11 calls this to allocate the missing object.
  static void* allocate(size_t) { raise(); }

  static inline const char* name_ = "";
};

// Same as pybind11::class_<T, Options...>(module, name, documentation, extra...),
// without uninitialised memory.
template <class T, class... Options, class... Extra>
[[nodiscard]] pybind11::class_<T, Options...> export_class(pybind11::module_& module, const char* name,
                                                           const char* documentation, const Extra&... extra) {
  pybind11::class_<T, Options...> type(module, name, documentation, extra...);
  Uninitialised<T>::refuse(type, name);
  return type;
}

}  // namespace scrubjay::bindings
