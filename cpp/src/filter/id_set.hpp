// Id set: a caller's set of ids.
//
// Integers are in a 64-bit Roaring bitmap (CRoaring; Lemire et al. 2018), so that a bitmap of the caller can
// be used without expanding it; strings are in a hash set. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.hpp"

namespace scrubjay::filter {

class IdSet {
 public:
  // Ids of one kind.
  [[nodiscard]] static IdSet of_integers(std::span<const int64_t> ids);
  [[nodiscard]] static IdSet of_strings(std::span<const std::string_view> ids);
  // From a bitmap of 32-bit (`wide`: 64-bit) numbers in Roaring's portable format. Throws
  // base::InvalidArgument if it is invalid.
  [[nodiscard]] static IdSet of_roaring(std::string_view bytes, bool wide);

  IdSet(IdSet&&) noexcept;
  IdSet& operator=(IdSet&&) noexcept;
  ~IdSet();

  [[nodiscard]] uint64_t size() const noexcept;
  [[nodiscard]] bool holds_integers() const noexcept { return integers_ != nullptr; }  // or is empty
  [[nodiscard]] bool contains(int64_t id) const noexcept;
  [[nodiscard]] bool contains(std::string_view id) const noexcept { return strings_.contains(id); }

  // All members, in no particular order; the views live as long as the set.
  [[nodiscard]] std::vector<int64_t> integers() const;
  [[nodiscard]] std::vector<std::string_view> strings() const;

 private:
  struct Roaring;
  IdSet();
  std::unique_ptr<Roaring> integers_;
  std::unordered_set<std::string, base::SeededHash, std::equal_to<>> strings_;
};

}  // namespace scrubjay::filter
