#include "base/probing.hpp"

#include <atomic>

namespace scrubjay::base {

Probing Probing::fresh() noexcept {
  static std::atomic<uint64_t> n_tables{0};
  return {seeded_hash64(n_tables.fetch_add(1, std::memory_order_relaxed)), kMost};
}

}  // namespace scrubjay::base
