// When was a document created? Read from its payload, as the Python layer writes it
// (python/scrubjay/payload.py).
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace scrubjay::engine {

inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

// Microseconds since 1970 UTC, kNoTime if the payload is no JSON object that ends in
//     "created_at":"YYYY-MM-DDTHH:MM:SS[.ffffff]+00:00"
// with perhaps "expires_at":"..." behind it. Looks at the end only, so the size of the metadata does not
// matter.
[[nodiscard]] int64_t created_at_us(std::string_view payload) noexcept;

}  // namespace scrubjay::engine
