#include "base/interruption.hpp"

namespace scrubjay::base {

Interruptible::Interruptible(Look look, void* context) noexcept
    : look_(look), context_(context), outer_(std::exchange(detail::interruptible, this)) {}

Interruptible::~Interruptible() { detail::interruptible = outer_; }

void Interruptible::pass() {
  const auto now = std::chrono::steady_clock::now();
  if (next_ == std::chrono::steady_clock::time_point()) next_ = now + kPeriod;
  if (now < next_) return;
  {
    const Uninterruptible while_it_looks;
    look_(context_);
  }
  next_ = std::chrono::steady_clock::now() + kPeriod;
}

}  // namespace scrubjay::base
