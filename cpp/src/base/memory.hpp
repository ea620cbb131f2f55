// Memory that was freed, and goes back to the system only when asked.
#pragma once

namespace scrubjay::base {

// Gives free pages of the allocator's heap back to the system, where the C library has a call for that
// (glibc); otherwise nothing. Takes milliseconds for a heap of some hundred megabytes. Any thread.
void release_free_memory() noexcept;

}  // namespace scrubjay::base
