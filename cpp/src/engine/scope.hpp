// Scope: whose memory is this, and who may see it?
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

namespace scrubjay::engine {

// A tenant and optionally a user and an agent of it; a missing user or agent means "shared by all of the
// tenant's". Immutable. A component is a non-empty string (any bytes).
class Scope {
 public:
  // Throws base::InvalidArgument for an empty component.
  Scope(std::string_view tenant, std::optional<std::string_view> user, std::optional<std::string_view> agent);

  [[nodiscard]] std::string_view tenant() const noexcept { return component(0); }
  [[nodiscard]] std::optional<std::string_view> user() const noexcept { return optional_component(1); }
  [[nodiscard]] std::optional<std::string_view> agent() const noexcept { return optional_component(2); }

  // An unambiguous encoding: equal keys are equal scopes.
  [[nodiscard]] std::string_view key() const noexcept { return visible_[n_visible_ - 1].key; }
  [[nodiscard]] uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] bool operator==(const Scope& other) const noexcept { return key() == other.key(); }

  // Does `other` agree with every component that this scope names?
  [[nodiscard]] bool contains(const Scope& other) const noexcept;

  // The encodings of the scopes whose documents a search from here may see, in the order in which equal
  // scores rank: (tenant), (tenant, user), (tenant, agent), (tenant, user, agent), as far as the components
  // are given.
  struct Visible {
    std::string_view key;
    uint64_t hash;
  };
  [[nodiscard]] const Visible* visible_begin() const noexcept { return visible_; }
  [[nodiscard]] const Visible* visible_end() const noexcept { return visible_ + n_visible_; }

  // What a shared scope takes: every partition keeps the one it was made with.
  [[nodiscard]] size_t memory_bytes() const noexcept;

  ~Scope() { ::operator delete(visible_); }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  [[nodiscard]] std::string_view component(int i) const noexcept;
  [[nodiscard]] std::optional<std::string_view> optional_component(int i) const noexcept;

  // One block of memory: the encodings that are visible from here, its own the last of them, and their bytes.
  Visible* visible_ = nullptr;
  uint32_t n_visible_ = 0;
  uint32_t key_bytes_ = 0;
  uint64_t hash_ = 0;
};

using ScopeRef = std::shared_ptr<const Scope>;

}  // namespace scrubjay::engine
