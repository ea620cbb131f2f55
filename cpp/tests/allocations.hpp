// How often did this thread ask for memory, and how much is out? The test program's operator new counts
// (engine_out_of_memory.cpp).
#pragma once

#include <cstdint>
#include <optional>

namespace test_allocations {

// Calls of operator new by this thread so far; none under sanitizers, which bring an operator new of their
// own.
[[nodiscard]] std::optional<uint64_t> count() noexcept;

// What the allocator gave all threads and has not got back, in bytes, with a word before each allocation;
// none under sanitizers, or where the C library does not tell.
[[nodiscard]] std::optional<int64_t> live_bytes() noexcept;

}  // namespace test_allocations
