// Context: words that are indexed with a document's text though they are no part of it (a title, a summary of where the
// text stands).
//
// The payload of a document with a context is a JSON object that begins with {"context":"..." (python/scrubjay/payload.py
// writes it so). Its terms count as often as they occur, but not towards the document's length.
// tests/reference/model.py is the twin.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scrubjay::engine {

inline constexpr size_t kMaxContextBytes = 65536;  // a longer one is not indexed

// The context as UTF-8, empty if there is none: a view of `buffer` or of the payload. A payload without one is not parsed.
[[nodiscard]] std::string_view context_of(std::optional<std::string_view> payload, std::string& buffer);

}  // namespace scrubjay::engine
