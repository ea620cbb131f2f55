// What several scopes see together: for a search over all of them at once.
#pragma once

#include <span>
#include <vector>

#include "engine/scope.hpp"

namespace scrubjay::engine {

// The encodings of all that any of the scopes sees, each once: in the order of the scopes, and of one scope
// as it has them. They refer to the scopes. What is visible from nobody's point of view is not in it, so a
// search over it knows, and counts, nothing else.
[[nodiscard]] std::vector<Scope::Visible> visible_together(std::span<const Scope* const> scopes);

}  // namespace scrubjay::engine
