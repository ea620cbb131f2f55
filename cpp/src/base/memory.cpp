#include "base/memory.hpp"

#include <cstdlib>  // defines __GLIBC__ where it is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace scrubjay::base {

void release_free_memory() noexcept {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}

}  // namespace scrubjay::base
