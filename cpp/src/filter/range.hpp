// Range: a range of column values.
#pragma once

#include <cstdint>

namespace scrubjay::filter {

// [least, greatest]; empty if least > greatest.
struct Range {
  int64_t least = 0, greatest = -1;
};

}  // namespace scrubjay::filter
