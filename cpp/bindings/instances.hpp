// Instances: which C++ object stands behind a Python one, and the other way round, where a call is so short
// that looking it up is felt.
//
// pybind11 finds the type of every argument and result in tables keyed by the C++ type, and lists every
// object in a third: a fifth of a short search. A class that was remembered here is known by its address.
// Whatever is unusual (a Python subclass, an object whose __init__ never ran) is left to pybind11.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

namespace scrubjay::bindings {

template <class T>
class Instances {
 public:
  // Once, when the class is made; its holder is a std::unique_ptr if make() is to be used.
  static void remember(pybind11::handle type) noexcept {
    type_ = reinterpret_cast<PyTypeObject*>(type.ptr());
  }

  // Null unless the object is exactly of the class and holds something.
  [[nodiscard]] static T* behind(PyObject* object) noexcept {
    if (Py_TYPE(object) != type_) return nullptr;
    const auto* instance = reinterpret_cast<Instance*>(object);
    return instance->simple_layout ? static_cast<T*>(instance->simple_value_holder[0]) : nullptr;
  }

  // The same for the object that a method of the class was called on, which its descriptor checked: a Python subclass
  // of this class alone has the same layout.
  [[nodiscard]] static T* behind_self(PyObject* self) noexcept {
    const auto* instance = reinterpret_cast<Instance*>(self);
    return instance->simple_layout ? static_cast<T*>(instance->simple_value_holder[0]) : nullptr;
  }

  // Whether there is a value behind an object of the class or of a subclass.
  [[nodiscard]] static bool initialised(PyObject* object) {
    auto* instance = reinterpret_cast<Instance*>(object);
    return instance->get_value_and_holder(pybind11::detail::get_type_info(type_)).value_ptr() != nullptr;
  }

  // A new object that owns the value. Not in pybind11's list of objects, in which only those are looked up
  // that C++ hands to Python a second time.
  [[nodiscard]] static pybind11::object make(std::unique_ptr<T> value) { return own(std::move(value)); }
  // The same of a class whose holder is a std::shared_ptr, for an object that Python constructs: in pybind11's list,
  // so that a second __init__ changes nothing.
  [[nodiscard]] static pybind11::object construct(std::shared_ptr<T> value) {
    T* const behind = value.get();
    pybind11::object object = own(std::move(value));
    auto* instance = reinterpret_cast<Instance*>(object.ptr());
    pybind11::detail::register_instance(instance, behind, pybind11::detail::get_type_info(type_));
    instance->simple_instance_registered = true;
    return object;
  }

  // Lets objects of make() die without a look-up, too.
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
