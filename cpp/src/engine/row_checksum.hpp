// Row checksum: what a store keeps beside a plaintext document, so that a row that was damaged in the file, or that
// lies under another scope or id, is noticed when it is read. The format is described in
// python/scrubjay/store/rows/decoding.py, which has the implementation with hashlib.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/id.hpp"
#include "engine/scope.hpp"

namespace scrubjay::engine {

// The bytes of the column `hash`. The text is UTF-8.
[[nodiscard]] std::string row_checksum(const Scope& scope, const Id& id, std::string_view text,
                                       std::optional<std::string_view> payload);

}  // namespace scrubjay::engine
