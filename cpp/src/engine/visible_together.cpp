#include "engine/visible_together.hpp"

#include <bit>

namespace scrubjay::engine {

std::vector<Scope::Visible> visible_together(std::span<const Scope* const> scopes) {
  std::vector<Scope::Visible> visible;
  size_t n = 0;
  for (const Scope* scope : scopes) n += scope->n_visible();
  visible.reserve(n);
  // Open addressing: positions in `visible`, from 1. The hashes are seeded.
  std::vector<uint32_t> table(std::bit_ceil(2 * n + 1), 0);
  const size_t last = table.size() - 1;
  for (const Scope* scope : scopes) {
    for (const Scope::Visible* visible_scope = scope->visible_begin(); visible_scope != scope->visible_end();
         ++visible_scope) {
      size_t slot = visible_scope->hash & last;
      const auto is_other = [&](const Scope::Visible& earlier) {
        return earlier.hash != visible_scope->hash || earlier.key != visible_scope->key;
      };
      while (table[slot] != 0 && is_other(visible[table[slot] - 1])) slot = (slot + 1) & last;
      if (table[slot] != 0) continue;
      visible.push_back(*visible_scope);
      table[slot] = static_cast<uint32_t>(visible.size());
    }
  }
  return visible;
}

}  // namespace scrubjay::engine
