// Times: parses ISO 8601 texts.
#pragma once

#include <cstdint>
#include <string_view>

namespace scrubjay::filter {

// Microseconds since 1970 (UTC) of "YYYY-MM-DD", perhaps followed by "T" or " " and "HH:MM", ":SS", a
// fraction of up to six digits, and "Z" or "+HH:MM"; without an offset it is UTC, a date alone is its
// midnight. False: the text is something else.
[[nodiscard]] bool parse_iso_time(std::string_view text, int64_t& microseconds) noexcept;

}  // namespace scrubjay::filter
