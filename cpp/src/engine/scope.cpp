#include "engine/scope.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/errors.hpp"
#include "base/growing.hpp"
#include "base/seeded_hash.hpp"

namespace scrubjay::engine {
namespace {

using Component = std::optional<std::string_view>;

// Each component is encoded as a presence byte, a 32-bit length and its bytes, so no separator can occur
// in a name.
using Components = std::array<Component, 3>;

size_t encoded_bytes(const Components& components) noexcept {
  size_t n_bytes = 0;
  for (const Component& component : components) n_bytes += 5 + (component ? component->size() : 0);
  return n_bytes;
}

char* encode(const Components& components, char* at) noexcept {
  for (const Component& component : components) {
    const auto size = static_cast<uint32_t>(component ? component->size() : 0);
    *at++ = component ? '\1' : '\0';
    for (unsigned shift = 0; shift < 32; shift += 8) *at++ = static_cast<char>((size >> shift) & 0xffu);
    if (component) at = std::copy(component->begin(), component->end(), at);
  }
  return at;
}

void check(const char* name, const Component& component) {
  if (component && component->empty()) {
    throw base::InvalidArgument(std::string(name) + ": expected a non-empty string" +
                                (std::strcmp(name, "tenant") == 0 ? "" : " or None") + ", got ''");
  }
  if (component && component->size() > 65535) {
    throw base::InvalidArgument(std::string(name) + ": expected at most 65,535 bytes, got " +
                                std::to_string(component->size()));
  }
}

}  // namespace

Scope::Scope(std::string_view tenant, Component user, Component agent) {
  check("tenant", tenant);
  check("user", user);
  check("agent", agent);
  std::array<Components, 4> seen;
  uint32_t n = 0;
  seen[n++] = {tenant, std::nullopt, std::nullopt};
  if (user) seen[n++] = {tenant, user, std::nullopt};
  if (agent) seen[n++] = {tenant, std::nullopt, agent};
  if (user && agent) seen[n++] = {tenant, user, agent};
  size_t key_bytes = 0;
  for (uint32_t i = 0; i < n; ++i) key_bytes += encoded_bytes(seen[i]);
  visible_ = static_cast<Visible*>(::operator new(n * sizeof(Visible) + key_bytes));
  n_visible_ = n;
  key_bytes_ = static_cast<uint32_t>(key_bytes);
  char* at = reinterpret_cast<char*>(visible_ + n);
  for (uint32_t i = 0; i < n; ++i) {
    char* end = encode(seen[i], at);
    const std::string_view key(at, static_cast<size_t>(end - at));
    new (visible_ + i) Visible{key, base::seeded_hash64(key)};
    at = end;
  }
  hash_ = visible_[n - 1].hash;
}

size_t Scope::memory_bytes() const noexcept {
  constexpr size_t kCounts = 16;  // the two reference counts of std::make_shared
  return base::held_bytes(kCounts + sizeof(Scope)) +
         base::held_bytes(n_visible_ * sizeof(Visible) + key_bytes_);
}

std::string_view Scope::component(int i) const noexcept {
  const char* at = key().data();
  for (;; --i) {
    uint32_t size = 0;
    for (int byte = 0; byte < 4; ++byte)
      size |= static_cast<uint32_t>(static_cast<unsigned char>(at[1 + byte])) << (8 * byte);
    if (i == 0) return {at + 5, size};
    at += 5 + size;
  }
}

Component Scope::optional_component(int i) const noexcept {
  const std::string_view value = component(i);
  if (value.empty()) return std::nullopt;  // a component that is present is not empty
  return value;
}

bool Scope::contains(const Scope& other) const noexcept {
  return tenant() == other.tenant() && (!user() || user() == other.user()) &&
         (!agent() || agent() == other.agent());
}

}  // namespace scrubjay::engine
