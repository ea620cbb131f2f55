// Union of what several scopes see, for one search over all of them.
#pragma once

#include <span>
#include <vector>

#include "engine/scope.hpp"

namespace scrubjay::engine {

// Returns the encodings of all scopes that any of the given ones sees, without duplicates: in the order of
// the scopes, and within one scope in its own order. They refer to the scopes. A search over them neither
// sees nor counts anything else.
[[nodiscard]] std::vector<Scope::Visible> visible_together(std::span<const Scope* const> scopes);

}  // namespace scrubjay::engine
