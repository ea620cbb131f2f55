// Parking: suspends a thread that may neither continue nor end.
//
// A thread that is unwound from outside (pthread_exit, pthread_cancel) passes through C++ frames without an
// exception object. If it reaches a noexcept function, or a handler that does not rethrow, the C++ library
// ends the process. Parking the thread in the handler is the only alternative.
#pragma once

#include <exception>

namespace scrubjay::base {

// Sleeps until the process ends. Locks that the thread holds stay locked.
[[noreturn]] void park() noexcept;

// For a `catch (...)` handler: whether the thread is being unwound from outside.
[[nodiscard]] inline bool unwound_from_outside() noexcept { return !std::current_exception(); }

}  // namespace scrubjay::base
