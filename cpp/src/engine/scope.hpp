// Scope: who a memory belongs to, and what a search from there sees.
#pragma once

#include <bit>
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

  [[nodiscard]] uint32_t n_visible() const noexcept { return n_visible_; }
  // The same with the most specific first, i < n_visible(): (tenant, user, agent), (tenant, user),
  // (tenant, agent), (tenant). Of several documents with one id a reader gets the first.
  [[nodiscard]] const Visible& by_specificity(uint32_t i) const noexcept {
    const bool middle = n_visible_ == 4 && (i == 1 || i == 2);
    return visible_[middle ? i : n_visible_ - 1 - i];
  }

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

// The hash of a document's key, from those of its scope and of its id. Scopes and string ids are hashed by
// the same function: without the rotation the id that spells the encoding of its own scope would make zero in
// every scope, and a caller could fill one place of the id index with as many documents as it has scopes.
[[nodiscard]] inline uint64_t key_hash(const Scope& scope, uint64_t id_hash) noexcept {
  return id_hash ^ std::rotl(scope.hash(), 32);
}

}  // namespace scrubjay::engine
