#include "base/park.hpp"

#include <chrono>
#include <thread>

namespace scrubjay::base {

void park() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace scrubjay::base
