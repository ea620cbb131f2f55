// Return of freed memory to the system.
#pragma once

namespace scrubjay::base {

// Returns free pages of the allocator's heap to the system where the C library has a call for it (glibc); a
// no-op elsewhere. Takes milliseconds for a heap of several hundred megabytes. Callable from any thread.
void release_free_memory() noexcept;

}  // namespace scrubjay::base
