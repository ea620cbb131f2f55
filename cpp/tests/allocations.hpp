// Counts the allocations of this thread and the bytes in use, by the test program's operator new
// (engine_out_of_memory.cpp).
#pragma once

#include <cstdint>
#include <optional>

namespace test_allocations {

// Calls of operator new by this thread so far; nullopt under sanitizers, which have their own operator new.
[[nodiscard]] std::optional<uint64_t> count() noexcept;

// Bytes that the allocator has given to all threads and not got back, including one word per allocation;
// nullopt under sanitizers, or if the C library cannot tell.
[[nodiscard]] std::optional<int64_t> live_bytes() noexcept;

}  // namespace test_allocations
