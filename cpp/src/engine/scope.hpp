// Scope: the owner of a memory, and what a search from it sees.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

namespace scrubjay::engine {

// A tenant, optionally with a user and an agent; a missing user or agent means "shared by all of the
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

  // Whether `other` equals this scope in every component that this scope names.
  [[nodiscard]] bool contains(const Scope& other) const noexcept;

  // The encodings of the scopes whose documents a search from this scope may see, in the order in which equal
  // scores rank: (tenant), (tenant, user), (tenant, agent), (tenant, user, agent), as far as the components
  // are given.
  struct Visible {
    std::string_view key;
    uint64_t hash;
  };
  [[nodiscard]] const Visible* visible_begin() const noexcept { return visible_; }
  [[nodiscard]] const Visible* visible_end() const noexcept { return visible_ + n_visible_; }

  [[nodiscard]] uint32_t n_visible() const noexcept { return n_visible_; }
  // The same, most specific first, i < n_visible(): (tenant, user, agent), (tenant, user), (tenant, agent),
  // (tenant). Of several documents with the same id a reader gets the first.
  [[nodiscard]] const Visible& by_specificity(uint32_t i) const noexcept {
    const bool middle = n_visible_ == 4 && (i == 1 || i == 2);
    return visible_[middle ? i : n_visible_ - 1 - i];
  }

  // Memory of a shared scope: every partition keeps the one that it was created with.
  [[nodiscard]] size_t memory_bytes() const noexcept;

  ~Scope() { ::operator delete(visible_); }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  [[nodiscard]] std::string_view component(int i) const noexcept;
  [[nodiscard]] std::optional<std::string_view> optional_component(int i) const noexcept;

  // One allocation: the encodings that are visible from this scope, its own last, and their bytes.
  Visible* visible_ = nullptr;
  uint32_t n_visible_ = 0;
  uint32_t key_bytes_ = 0;
  uint64_t hash_ = 0;
};

using ScopeRef = std::shared_ptr<const Scope>;

// The hash of a document's key, from the hashes of its scope and id. Scopes and string ids are hashed by the
// same function: without the rotation, an id that spells the encoding of its own scope would give zero in
// every scope, and a caller could fill one slot of the id index with one document per scope.
[[nodiscard]] inline uint64_t key_hash(const Scope& scope, uint64_t id_hash) noexcept {
  return id_hash ^ std::rotl(scope.hash(), 32);
}

}  // namespace scrubjay::engine
