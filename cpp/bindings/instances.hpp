// Instances: maps between Python objects and their C++ objects, for calls so short that
// pybind11's lookup matters.
//
// pybind11 finds the type of every argument and result in tables keyed by the C++ type, and registers every
// object in a third table: a fifth of the time of a short search. A class that is remembered here is
// recognised by its address. Unusual objects (a Python subclass, an object whose __init__ never ran) are left
// to pybind11.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

namespace scrubjay::bindings {

template <class T>
class Instances {
 public:
  // Call once, when the class is created; its holder must be a std::unique_ptr if make() is used.
  static void remember(pybind11::handle type) noexcept {
    type_ = reinterpret_cast<PyTypeObject*>(type.ptr());
  }

  // Null unless the object is exactly of this class and initialised.
  [[nodiscard]] static T* behind(PyObject* object) noexcept {
    if (Py_TYPE(object) != type_) return nullptr;
    const auto* instance = reinterpret_cast<Instance*>(object);
    return instance->simple_layout ? static_cast<T*>(instance->simple_value_holder[0]) : nullptr;
  }

  // The same for the `self` of a method of the class, which its descriptor has checked: a Python subclass of
  // this class alone has the same layout.
  [[nodiscard]] static T* behind_self(PyObject* self) noexcept {
    const auto* instance = reinterpret_cast<Instance*>(self);
    return instance->simple_layout ? static_cast<T*>(instance->simple_value_holder[0]) : nullptr;
  }

  // Whether an object of the class or of a subclass has a C++ object.
  [[nodiscard]] static bool initialised(PyObject* object) {
    auto* instance = reinterpret_cast<Instance*>(object);
    return instance->get_value_and_holder(pybind11::detail::get_type_info(type_)).value_ptr() != nullptr;
  }

  // Returns a new object that owns the value. It is not in pybind11's table of objects, which is only needed
  // for objects that C++ returns to Python repeatedly.
  [[nodiscard]] static pybind11::object make(std::unique_ptr<T> value) { return own(std::move(value)); }
  // The same for a class whose holder is a std::shared_ptr, and an object that Python constructs: it is in
  // pybind11's table, so that a second __init__ has no effect.
  [[nodiscard]] static pybind11::object construct(std::shared_ptr<T> value) {
    T* const behind = value.get();
    pybind11::object object = own(std::move(value));
    auto* instance = reinterpret_cast<Instance*>(object.ptr());
    pybind11::detail::register_instance(instance, behind, pybind11::detail::get_type_info(type_));
    instance->simple_instance_registered = true;
    return object;
  }

  // Lets objects of make() be destroyed without a lookup, too.
  static void dispose_quickly() noexcept {
    usual_dispose_ = type_->tp_dealloc;
    type_->tp_dealloc = [](PyObject* object) {
      auto* instance = reinterpret_cast<Instance*>(object);
      if (Py_TYPE(object) != type_ || !instance->simple_layout || instance->simple_instance_registered ||
          !instance->simple_holder_constructed || instance->weakrefs)
        return usual_dispose_(object);
      delete static_cast<T*>(instance->simple_value_holder[0]);
      type_->tp_free(object);
      Py_DECREF(reinterpret_cast<PyObject*>(type_));
    };
  }

 private:
  using Instance = pybind11::detail::instance;

  template <class Holder>
  [[nodiscard]] static pybind11::object own(Holder value) {
    auto object = pybind11::reinterpret_steal<pybind11::object>(type_->tp_alloc(type_, 0));
    if (!object) throw pybind11::error_already_set();
    auto* instance = reinterpret_cast<Instance*>(object.ptr());
    instance->simple_layout = true;
    instance->owned = true;
    instance->simple_value_holder[0] = value.get();
    new (&instance->simple_value_holder[1]) Holder(std::move(value));
    instance->simple_holder_constructed = true;
    return object;
  }

  static inline PyTypeObject* type_ = nullptr;
  static inline destructor usual_dispose_ = nullptr;
};

}  // namespace scrubjay::bindings
