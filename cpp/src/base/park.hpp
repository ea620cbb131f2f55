// Parking: suspends a thread that may neither go on nor end.
//
// A thread that is unwound from outside (pthread_exit, pthread_cancel) passes through C++ frames without an
// exception object. Where it meets a function that must not throw, or a handler that does not pass it on, the
// C++ library ends the process. Parking the thread in the handler is the only other way.
#pragma once

#include <exception>

namespace scrubjay::base {

// Sleeps until the process ends. Locks that the thread holds stay held.
[[noreturn]] void park() noexcept;

// In a handler of `catch (...)`: whether the thread is being unwound from outside.
[[nodiscard]] inline bool unwound_from_outside() noexcept { return !std::current_exception(); }

}  // namespace scrubjay::base
