// All storage formats of vectors.
#pragma once

#include "vector/metric.hpp"

inline constexpr scrubjay::vector::Storage kStorages[] = {
    scrubjay::vector::Storage::f16, scrubjay::vector::Storage::f32, scrubjay::vector::Storage::i8};
