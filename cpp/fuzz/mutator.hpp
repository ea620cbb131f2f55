// What a fuzzer may define beside LLVMFuzzerTestOneInput, and what its driver (libFuzzer,
// standalone_main.cpp) gives it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
// Of the fuzzer: changes data[0, size) in place, to at most max_size bytes; returns the new size.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
// Of the driver: its usual mutations.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}
