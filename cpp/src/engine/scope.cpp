#include "engine/scope.hpp"

#include <cstring>

#include "base/errors.hpp"
#include "base/hash.hpp"

namespace scrubjay::engine {
namespace {

using Component = std::optional<std::string_view>;

// Each component as a presence byte, a 32-bit length and its bytes: no separator that a name could contain.
std::string encode(const Component& tenant, const Component& user, const Component& agent) {
  std::string key;
  for (const Component& component : {tenant, user, agent}) {
    const auto size = static_cast<uint32_t>(component ? component->size() : 0);
    key.push_back(component ? '\1' : '\0');
    for (int shift = 0; shift < 32; shift += 8) key.push_back(static_cast<char>((size >> shift) & 0xffu));
    if (component) key.append(*component);
  }
  return key;
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

Scope::Scope(std::string_view tenant, Component user, Component agent) : key_(encode(tenant, user, agent)) {
  check("tenant", tenant);
  check("user", user);
  check("agent", agent);
  hash_ = base::hash64(key_);
  uint32_t n_others = 0;
  const auto add = [&](const Component& some_user, const Component& some_agent) {
    const bool own = some_user.has_value() == user.has_value() && some_agent.has_value() == agent.has_value();
    if (own) {
      visible_[n_visible_++] = {key_, hash_};
      return;
    }
    std::string& key = other_keys_[n_others++];
    key = encode(tenant, some_user, some_agent);
    visible_[n_visible_++] = {key, base::hash64(key)};
  };
  add(std::nullopt, std::nullopt);
  if (user) add(user, std::nullopt);
  if (agent) add(std::nullopt, agent);
  if (user && agent) add(user, agent);
}

std::string_view Scope::component(int i) const noexcept {
  const char* at = key_.data();
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
