#include "gil.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace py = pybind11;

namespace scrubjay::bindings {

void InterruptibleWithoutGil::learn_main_thread() {
  main_thread_ =
      py::cast<unsigned long>(py::module_::import("threading").attr("main_thread")().attr("ident"));
#if !defined(_WIN32)
  pthread_atfork(nullptr, nullptr, [] { main_thread_ = PyThread_get_thread_ident(); });
#endif
}

void InterruptibleWithoutGil::look(void* self) {
  auto& call = *static_cast<InterruptibleWithoutGil*>(self);
  take_gil(call.state_);
  std::optional<py::error_already_set> error;
  if (PyErr_CheckSignals() != 0) error.emplace();
  call.state_ = release_gil();
  if (error) throw *std::move(error);
}

}  // namespace scrubjay::bindings
