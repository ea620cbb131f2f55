// Place: memory that will be filled with bytes that arrive later.
#pragma once

#include <cstddef>

namespace scrubjay::base {

struct Place {
  char* memory = nullptr;
  size_t n_bytes = 0;
};

}  // namespace scrubjay::base
