// Functions that a fuzzer may define beside LLVMFuzzerTestOneInput, and those that its driver (libFuzzer,
// standalone_main.cpp) provides.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
// Defined by the fuzzer: changes data[0, size) in place, to at most max_size bytes; returns the new size.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
// Provided by the driver: its default mutations.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}
