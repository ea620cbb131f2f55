// Ids: the caller's identifiers of documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "base/seeded_hash.hpp"

namespace scrubjay::engine {

enum class IdKind : uint8_t { unset, integer, string };

// A caller's id: a 64-bit integer or a non-empty string. A view; the string is not owned.
struct Id {
  IdKind kind = IdKind::unset;
  int64_t integer = 0;
  std::string_view string;

  static Id of(int64_t value) noexcept { return {IdKind::integer, value, {}}; }
  static Id of(std::string_view value) noexcept { return {IdKind::string, 0, value}; }

  // For tables in memory.
  [[nodiscard]] uint64_t hash() const noexcept {
    return kind == IdKind::integer ? base::seeded_hash64(static_cast<uint64_t>(integer))
                                   : base::seeded_hash64(string);
  }
  // For digests: the same in every process.
  [[nodiscard]] uint64_t stored_hash() const noexcept {
    return kind == IdKind::integer
               ? base::mix64(static_cast<uint64_t>(integer) ^ 0x9e3779b97f4a7c15ull, 0xe7037ed1a0b428dbull)
               : base::hash64(string);
  }
  [[nodiscard]] bool operator==(const Id& other) const noexcept {
    return kind == other.kind && integer == other.integer && string == other.string;
  }
  [[nodiscard]] std::string to_string() const {
    if (kind == IdKind::integer) return std::to_string(integer);
    std::string quoted("'");
    quoted += string;
    return quoted += '\'';
  }
};

struct IdHash {
  [[nodiscard]] size_t operator()(const Id& id) const noexcept { return id.hash(); }
};

}  // namespace scrubjay::engine
