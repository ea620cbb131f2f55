// How often did this thread ask for memory? The test program's operator new counts
// (engine_out_of_memory.cpp).
#pragma once

#include <cstdint>
#include <optional>

namespace test_allocations {

// Calls of operator new by this thread so far; none under sanitizers, which bring an operator new of their
// own.
[[nodiscard]] std::optional<uint64_t> count() noexcept;

}  // namespace test_allocations
