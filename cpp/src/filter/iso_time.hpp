// Times: parses ISO 8601 texts.
#pragma once

#include <cstdint>
#include <string_view>

namespace scrubjay::filter {

// Parses "YYYY-MM-DD", optionally followed by "T" or " " and "HH:MM", ":SS", a fraction of up to six digits,
// and "Z" or "+HH:MM", into microseconds since 1970 (UTC). Without an offset the time is UTC; a date alone is
// its midnight. Returns false for any other text.
[[nodiscard]] bool parse_iso_time(std::string_view text, int64_t& microseconds) noexcept;

}  // namespace scrubjay::filter
